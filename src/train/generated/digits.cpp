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

// `Rearrange` turns the digits into the answer, in place.
template <typename Rearrange>
class Digits : public Generator {
 public:
  Digits(std::int64_t length, Rearrange rearrange)
      : length_(length), rearrange_(std::move(rearrange)) {}

  AnswerForm form() const override { return AnswerForm::kAligned; }
  std::vector<std::string> words() const override { return digit_words(); }
  std::int64_t longest() const override { return length_; }
  void make(Random& random, bool /*held_out*/, Puzzle& puzzle) const override {
    for (std::int64_t i = 0; i < length_; ++i)
      puzzle.source.push_back(number_below(random, kDigits));
    puzzle.answer = puzzle.source;
    rearrange_(puzzle.answer);
  }

 private:
  std::int64_t length_;
  Rearrange rearrange_;
};

// Two numbers with the last digit last, and their sum with the last digit first, so that each digit
// of the sum depends on the digits already written, like a carry.
class Sums : public Generator {
 public:
  explicit Sums(std::int64_t digits) : digits_(digits) {}

  AnswerForm form() const override { return AnswerForm::kSequence; }
  std::vector<std::string> words() const override {
    std::vector<std::string> words = digit_words();
    words.emplace_back("+");
    return words;
  }
  std::int64_t longest() const override { return 2 * digits_ + 1; }
  void make(Random& random, bool /*held_out*/, Puzzle& puzzle) const override {
    for (std::int64_t i = 0; i < 2 * digits_ + 1; ++i)
      puzzle.source.push_back(i == digits_ ? kDigits : number_below(random, kDigits));
    std::int32_t carry = 0;
    for (std::int64_t i = digits_ - 1; i >= 0; --i) {
      const std::int32_t sum = puzzle.source[static_cast<std::size_t>(i)] +
                               puzzle.source[static_cast<std::size_t>(digits_ + 1 + i)] + carry;
      puzzle.answer.push_back(sum % kDigits);
      carry = sum / kDigits;
    }
    puzzle.answer.push_back(carry);
  }

 private:
  std::int64_t digits_;
};

template <typename Rearrange>
std::unique_ptr<Generator> digits(std::int64_t length, Rearrange rearrange) {
  return std::make_unique<Digits<Rearrange>>(length, std::move(rearrange));
}

}  // namespace

std::unique_ptr<Generator> reverse_generator(std::int64_t length) {
  return digits(length, [](std::vector<std::int32_t>& all) { std::ranges::reverse(all); });
}

std::unique_ptr<Generator> copy_generator(std::int64_t length) {
  return digits(length, [](std::vector<std::int32_t>& /*all*/) {});
}

std::unique_ptr<Generator> sort_generator(std::int64_t length) {
  return digits(length, [](std::vector<std::int32_t>& all) { std::ranges::sort(all); });
}

std::unique_ptr<Generator> add_generator(std::int64_t length) {
  return std::make_unique<Sums>(length);
}

}  // namespace heed
