// Repeated random words: the word that followed another the first time follows it again.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "train/crops.h"
#include "train/generated/generator.h"

namespace heed {
namespace {

class Induction : public Generator {
 public:
  explicit Induction(std::int64_t length) : length_(length) {}

  AnswerForm form() const override { return AnswerForm::kNext; }
  std::vector<std::string> words() const override {
    std::vector<std::string> words;
    for (std::int64_t i = 0; i < count(); ++i) words.push_back(fmt::format("w{}", i));
    return words;
  }
  std::int64_t longest() const override { return length_; }

  // The words of a period are different, so that the answer is unique. The period varies, so that
  // no fixed distance gives it away.
  void make(Random& random, bool /*held_out*/, Puzzle& puzzle) const override {
    const std::int64_t period = drawn_period(random, length_, 4);
    std::vector<std::int32_t> left;
    for (std::int64_t i = 0; i < count(); ++i) left.push_back(static_cast<std::int32_t>(i));
    for (std::int64_t i = 0; i < period; ++i) {
      const auto at = static_cast<std::size_t>(i);
      std::swap(left[at], left[at + random.below(left.size() - at)]);
    }
    for (std::int64_t i = 0; i < length_; ++i) {
      puzzle.source.push_back(left[static_cast<std::size_t>(i % period)]);
      puzzle.answer.push_back(i < period ? -1 : left[static_cast<std::size_t>((i + 1) % period)]);
    }
  }

 private:
  std::int64_t count() const { return std::max<std::int64_t>(64, length_); }

  std::int64_t length_;
};

}  // namespace

std::unique_ptr<Generator> induction_generator(std::int64_t length) {
  return std::make_unique<Induction>(length);
}

}  // namespace heed
