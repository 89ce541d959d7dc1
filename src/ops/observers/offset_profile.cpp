#include "heed/ops/observers/offset_profile.h"

#include "heed/base/error.h"

namespace heed {
namespace {

constexpr std::int64_t kFarthest = std::int64_t{1} << 24;  // a sum and a count each, in each task

struct DistanceSums : Observer::State {
  explicit DistanceSums(std::int64_t count)
      : sums(static_cast<std::size_t>(count)), pairs(static_cast<std::size_t>(count)) {}
  std::vector<double> sums;
  std::vector<std::int64_t> pairs;
};

}  // namespace

OffsetProfileObserver::OffsetProfileObserver(std::int64_t first, std::int64_t last)
    : first_(first) {
  require(first <= last, "offset_profile: first is {} but last is {}: first <= last is expected",
          first, last);
  require(first >= -kFarthest && last <= kFarthest,
          "offset_profile: first is {} and last is {}: distances within {} of 0 are expected",
          first, last, kFarthest);
  count_ = last - first + 1;
}

void OffsetProfileObserver::begin(const ObservedShape& shape) {
  shape_ = shape;
  pairs = Tensor::zeros({shape.batch, shape.heads, count_}, DType::kI64);
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
    // Of row i: entry + i.
    const std::int64_t entry = rows.q_offset + rows.row_begin - (rows.key_offset + key) - first_;
    for (std::int64_t i = 0; i < rows.row_end - rows.row_begin; ++i) {
      if (entry + i < 0 || entry + i >= count_ || (tile.visible[j] >> i & 1) == 0) continue;
      const auto at = static_cast<std::size_t>(entry + i);
      seen.sums[at] += static_cast<double>(tile.weights[j * kMaskRows + i]);
      ++seen.pairs[at];
    }
  }
}

void OffsetProfileObserver::merge(State& state, const ObservedRows& rows) {
  const auto& seen = static_cast<const DistanceSums&>(state);
  const std::int64_t first = (rows.batch * shape_.heads + rows.head) * count_;
  for (std::int64_t d = 0; d < count_; ++d) {
    sums_[static_cast<std::size_t>(first + d)] += seen.sums[static_cast<std::size_t>(d)];
    pairs.data<std::int64_t>()[first + d] += seen.pairs[static_cast<std::size_t>(d)];
  }
}

void OffsetProfileObserver::finish() {
  mean = Tensor::zeros({shape_.batch, shape_.heads, count_});
  for (std::int64_t e = 0; e < mean.element_count(); ++e) {
    const std::int64_t count = pairs.data<std::int64_t>()[e];
    if (count > 0)
      mean.data<float>()[e] =
          static_cast<float>(sums_[static_cast<std::size_t>(e)] / static_cast<double>(count));
  }
}

}  // namespace heed
