// Tasks with known answers: heed generates their examples, and one can check whether attention
// learned the right thing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/philox.h"

namespace heed {

/// Numbers of words in `Generator::words`, and of labels.
struct Puzzle {
  std::vector<std::int32_t> source = {};
  std::vector<std::int32_t> answer = {};
};

/// How a puzzle's answer relates to its source.
enum class AnswerForm : std::uint8_t {
  kAligned,   // a word for each word of the source
  kSequence,  // any number of words
  kLabels,    // a label for each word of the source, -1 if no answer is expected
  kNext,      // the source's own next word, -1 if no answer is expected
};

struct Generator {
  AnswerForm form = AnswerForm::kAligned;
  std::vector<std::string> words = {};
  std::vector<std::string> labels = {};  // empty: the words
  std::int64_t longest = 0;              // maximal length of a source and of an answer
  /// Fills an empty puzzle. Puzzles made for validation (`held_out`) are never made for training,
  /// if the generator has so few that they repeat.
  std::function<void(Random& random, bool held_out, Puzzle& puzzle)> make = {};
};

struct GeneratorEntry {
  std::string_view name, about;
  std::int64_t usual_length;
  Generator (*make)(std::int64_t length);
};
std::span<const GeneratorEntry> generators();

Generator reverse_generator(std::int64_t length);
Generator copy_generator(std::int64_t length);
Generator sort_generator(std::int64_t length);
Generator add_generator(std::int64_t length);
Generator anomaly_generator(std::int64_t length);
Generator induction_generator(std::int64_t length);
Generator pronoun_generator(std::int64_t length);

/// One of `items`, with equal probability.
template <typename T>
const T& one_of(Random& random, std::span<const T> items) {
  return items[random.below(items.size())];
}

/// A number in [0, bound).
inline std::int32_t number_below(Random& random, std::int64_t bound) {
  return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound)));
}

}  // namespace heed
