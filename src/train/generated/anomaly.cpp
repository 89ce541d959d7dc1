// A set of words with one word of another kind.
#include "train/generated/generator.h"

namespace heed {
namespace {

constexpr std::int64_t kWordKinds = 8;
constexpr std::int64_t kEach = 8;
constexpr std::string_view kWordsOfKind[kWordKinds][kEach] = {
    {"red", "blue", "green", "yellow", "white", "black", "grey", "brown"},
    {"dog", "cat", "horse", "cow", "sheep", "goat", "hen", "pig"},
    {"apple", "pear", "plum", "cherry", "grape", "lemon", "fig", "peach"},
    {"one", "two", "three", "four", "five", "six", "seven", "eight"},
    {"iron", "gold", "silver", "copper", "tin", "lead", "zinc", "brass"},
    {"hand", "foot", "head", "arm", "leg", "ear", "eye", "nose"},
    {"chair", "table", "bed", "bench", "desk", "shelf", "stool", "chest"},
    {"rain", "snow", "wind", "fog", "hail", "storm", "frost", "dew"}};

void make_anomaly(std::int64_t length, Random& random, Puzzle& puzzle) {
  const std::int32_t usual = number_below(random, kWordKinds);
  const std::int32_t other =
      static_cast<std::int32_t>((usual + 1 + number_below(random, kWordKinds - 1)) % kWordKinds);
  const std::int32_t odd = number_below(random, length);
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int32_t kind = i == odd ? other : usual;
    puzzle.source.push_back(static_cast<std::int32_t>(kEach * kind) + number_below(random, kEach));
    puzzle.answer.push_back(static_cast<std::int32_t>(i == odd));
  }
}

}  // namespace

Generator anomaly_generator(std::int64_t length) {
  Generator generator = {.form = AnswerForm::kLabels, .labels = {"same", "odd"}, .longest = length};
  for (const auto& kind : kWordsOfKind)
    generator.words.insert(generator.words.end(), std::begin(kind), std::end(kind));
  generator.make = [=](Random& random, bool /*held_out*/, Puzzle& puzzle) {
    make_anomaly(length, random, puzzle);
  };
  return generator;
}

}  // namespace heed
