// The list of generators.
#include "train/generated/generator.h"

namespace heed {
namespace {

constexpr GeneratorEntry kGenerators[] = {
    {"reverse", "digits, written from the last to the first", 16, reverse_generator},
    {"copy", "digits, written again", 16, copy_generator},
    {"sort", "digits, in rising order", 12, sort_generator},
    {"add", "two numbers of that many digits, and their sum from its last digit on", 3,
     add_generator},
    {"anomaly", "words of one kind and one of another, which is the odd one out", 10,
     anomaly_generator},
    {"induction", "random words that begin again after a random period", 48, induction_generator},
    {"pronoun", "stories of that many sentences; each pronoun's noun", 3, pronoun_generator},
};

}  // namespace

std::span<const GeneratorEntry> generators() { return kGenerators; }

}  // namespace heed
