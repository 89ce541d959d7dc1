// Repeated random words: the word that followed another the first time follows it again.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "train/crops.h"
#include "train/generated/generator.h"

namespace heed {
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
