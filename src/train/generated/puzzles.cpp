// Puzzles: digits to reverse, copy, sort or add; a set of words with one word of another kind; and
// repeated random words, where the word that followed another the first time follows it again.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "train/crops.h"
#include "train/generated/generator.h"

namespace heed {
namespace {

constexpr std::int32_t kDigits = 10;

std::vector<std::string> digit_words() {
  std::vector<std::string> words;
  for (int digit = 0; digit < kDigits; ++digit) words.push_back(std::to_string(digit));
  return words;
}

// `rearrange` turns the digits into the answer, in place.
Generator digits(std::int64_t length, void (*rearrange)(std::vector<std::int32_t>& all)) {
  return {.form = AnswerForm::kAligned,
          .words = digit_words(),
          .longest = length,
          .make = [=](Random& random, bool /*held_out*/, Puzzle& puzzle) {
            for (std::int64_t i = 0; i < length; ++i)
              puzzle.source.push_back(number_below(random, kDigits));
            puzzle.answer = puzzle.source;
            rearrange(puzzle.answer);
          }};
}

// Two numbers with the last digit last, and their sum with the last digit first, so that each digit
// of the sum depends on the digits already written, like a carry.
void make_sum(std::int64_t digits, Random& random, Puzzle& puzzle) {
  for (std::int64_t i = 0; i < 2 * digits + 1; ++i)
    puzzle.source.push_back(i == digits ? kDigits : number_below(random, kDigits));
  std::int32_t carry = 0;
  for (std::int64_t i = digits - 1; i >= 0; --i) {
    const std::int32_t sum = puzzle.source[static_cast<std::size_t>(i)] +
                             puzzle.source[static_cast<std::size_t>(digits + 1 + i)] + carry;
    puzzle.answer.push_back(sum % kDigits);
    carry = sum / kDigits;
  }
  puzzle.answer.push_back(carry);
}

}  // namespace

Generator reverse_generator(std::int64_t length) {
  return digits(length, [](std::vector<std::int32_t>& all) { std::ranges::reverse(all); });
}

Generator copy_generator(std::int64_t length) {
  return digits(length, [](std::vector<std::int32_t>& /*all*/) {});
}

Generator sort_generator(std::int64_t length) {
  return digits(length, [](std::vector<std::int32_t>& all) { std::ranges::sort(all); });
}

Generator add_generator(std::int64_t length) {
  std::vector<std::string> words = digit_words();
  words.emplace_back("+");
  return {.form = AnswerForm::kSequence,
          .words = std::move(words),
          .longest = 2 * length + 1,
          .make = [=](Random& random, bool /*held_out*/, Puzzle& puzzle) {
            make_sum(length, random, puzzle);
          }};
}

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

namespace {

// The words of a period are different, so that the answer is unique. The period varies, so that no
// fixed distance gives it away.
void make_induction(std::int64_t length, std::int64_t words, Random& random, Puzzle& puzzle) {
  const std::int64_t period = drawn_period(random, length, 4);
  std::vector<std::int32_t> left(static_cast<std::size_t>(words));
  std::iota(left.begin(), left.end(), 0);
  for (std::int64_t i = 0; i < period; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::swap(left[at], left[at + random.below(left.size() - at)]);
  }
  for (std::int64_t i = 0; i < length; ++i) {
    puzzle.source.push_back(left[static_cast<std::size_t>(i % period)]);
    puzzle.answer.push_back(i < period ? -1 : left[static_cast<std::size_t>((i + 1) % period)]);
  }
}

}  // namespace

Generator induction_generator(std::int64_t length) {
  const std::int64_t count = std::max<std::int64_t>(64, length);
  Generator generator = {.form = AnswerForm::kNext, .longest = length};
  for (std::int64_t i = 0; i < count; ++i) generator.words.push_back(fmt::format("w{}", i));
  generator.make = [=](Random& random, bool /*held_out*/, Puzzle& puzzle) {
    make_induction(length, count, random, puzzle);
  };
  return generator;
}

}  // namespace heed
