// Digits to reverse, copy, sort or add.
#include <algorithm>
#include <utility>

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

}  // namespace heed
