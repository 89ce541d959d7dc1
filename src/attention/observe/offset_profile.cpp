#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "attention/observe/tile_sums.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

constexpr std::int64_t kFarthest = std::int64_t{1} << 24;  // each task has a sum and count for each

struct DistanceSums : Observer::State {
  explicit DistanceSums(std::int64_t count)
      : sums(static_cast<std::size_t>(count)), steps(static_cast<std::size_t>(count) + 1) {}
  std::vector<double> sums;
  std::vector<std::int64_t> steps;  // change in the number of pairs from one distance to the next

  // Adds the rows [begin, end) of one key; the first goes to entry `at`.
  void add(const float* weights, std::int64_t begin, std::int64_t end, std::int64_t at) {
    ++steps[static_cast<std::size_t>(at)];
    --steps[static_cast<std::size_t>(at + end - begin)];
    double* sum = sums.data() + at;
    if (end - begin == kMaskRows) return kernels::add_keys(weights, 1, sum);
    for (std::int64_t i = begin; i < end; ++i) *sum++ += static_cast<double>(weights[i]);
  }
};

}  // namespace

OffsetProfileObserver::OffsetProfileObserver(std::int64_t first, std::int64_t last)
    : first_(first) {
  if (first > last) fail("offset_profile", "first", first, fmt::format("at most {} (last)", last));
  if (first < -kFarthest || last > kFarthest)
    fail("offset_profile", first < -kFarthest ? "first" : "last", first < -kFarthest ? first : last,
         fmt::format("a distance within {} of 0", kFarthest));
  count_ = last - first + 1;
}

void OffsetProfileObserver::begin(const ObservedShape& shape) {
  shape_ = shape;
  mean = Tensor::zeros({shape.batch, shape.heads, count_});
  pairs = Tensor::zeros(mean.shape(), DType::kI64);
  sums_.assign(static_cast<std::size_t>(pairs.element_count()), 0.0);
}

std::unique_ptr<Observer::State> OffsetProfileObserver::rows(const ObservedRows&) const {
  return std::make_unique<DistanceSums>(count_);
}

void OffsetProfileObserver::tile(State& state, const ObservedRows& rows,
                                 const ObservedTile& tile) const {
  auto& seen = static_cast<DistanceSums&>(state);
  for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
    const std::int64_t j = key - tile.key_begin;
    // Row i adds to entry entry + i.
    const std::int64_t entry = rows.q_offset + rows.row_begin - (rows.key_offset + key) - first_;
    const std::int64_t last = std::min(rows.row_end - rows.row_begin, count_ - entry);
    const float* weights = tile.weights + j * kMaskRows;
    for (std::int64_t i = std::max<std::int64_t>(0, -entry); i < last;) {
      const int run = std::countr_one(tile.visible[j] >> i);
      const std::int64_t end = std::min(i + run, last);
      if (run > 0) seen.add(weights, i, end, entry + i);
      i = end + 1;
    }
  }
}

void OffsetProfileObserver::merge(State& state, const ObservedRows& rows) {
  const auto& seen = static_cast<const DistanceSums&>(state);
  const std::int64_t first = (rows.batch * shape_.heads + rows.head) * count_;
  std::int64_t seen_pairs = 0;
  for (std::int64_t d = 0; d < count_; ++d) {
    seen_pairs += seen.steps[static_cast<std::size_t>(d)];
    sums_[static_cast<std::size_t>(first + d)] += seen.sums[static_cast<std::size_t>(d)];
    pairs.data<std::int64_t>()[first + d] += seen_pairs;
  }
}

void OffsetProfileObserver::finish() {
  for (std::int64_t e = 0; e < mean.element_count(); ++e) {
    const std::int64_t count = pairs.data<std::int64_t>()[e];
    if (count > 0)
      mean.data<float>()[e] =
          static_cast<float>(sums_[static_cast<std::size_t>(e)] / static_cast<double>(count));
  }
}

}  // namespace heed
