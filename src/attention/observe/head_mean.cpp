#include <algorithm>
#include <utility>
#include <vector>

#include "heed/observe.h"

namespace heed {
namespace {

// The rows of a block that are in a region, as offsets from the block's first row.
std::vector<std::int64_t> rows_inside(const Region& region, const ObservedRows& rows) {
  std::vector<std::int64_t> inside;
  const std::int64_t end = std::min(rows.row_end, region.row_end);
  for (std::int64_t row = std::max(rows.row_begin, region.row_begin); row < end; ++row)
    inside.push_back(row - rows.row_begin);
  return inside;
}

// One block's rows and the region's keys.
struct RegionRows : Observer::State {
  RegionRows(std::vector<std::int64_t> chosen_rows, const Region& region)
      : chosen(std::move(chosen_rows)),
        key_begin(region.key_begin),
        key_end(region.key_end),
        values(chosen.size() * static_cast<std::size_t>(key_end - key_begin)) {}

  std::vector<std::int64_t> chosen;  // rows of the block, as offsets from its first row
  std::int64_t key_begin;
  std::int64_t key_end;
  std::vector<float> values;  // [chosen, key_end - key_begin]

  void take(const ObservedTile& tile) {
    const std::int64_t begin = std::max(key_begin, tile.key_begin);
    const std::int64_t end = std::min(key_end, tile.key_end);
    float* line = values.data() - key_begin;
    for (const std::int64_t row : chosen) {
      for (std::int64_t key = begin; key < end; ++key)
        line[key] = tile.weights[(key - tile.key_begin) * kMaskRows + row];
      line += key_end - key_begin;
    }
  }
};

}  // namespace

void HeadMeanObserver::begin(const ObservedShape& shape) {
  region_ = asked_.resolved(shape);
  mean = Tensor::zeros({region_.batches(), region_.rows(), region_.keys()});
}

std::unique_ptr<Observer::State> HeadMeanObserver::rows(const ObservedRows& rows) const {
  return std::make_unique<RegionRows>(rows_inside(region_, rows), region_);
}

void HeadMeanObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  static_cast<RegionRows&>(state).take(tile);
}

void HeadMeanObserver::merge(State& state, const ObservedRows& rows) {
  const std::int64_t first = std::max(rows.row_begin, region_.row_begin) - region_.row_begin;
  float* sum =
      mean.data<float>() + ((rows.batch - region_.batch_begin) * mean.dim(1) + first) * mean.dim(2);
  for (const float weight : static_cast<const RegionRows&>(state).values) *sum++ += weight;
}

void HeadMeanObserver::finish() {
  const auto heads = static_cast<float>(region_.heads());
  for (std::int64_t e = 0; e < mean.element_count(); ++e)
    if (heads > 0) mean.data<float>()[e] /= heads;
}

}  // namespace heed
