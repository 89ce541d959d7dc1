#include "heed/ops/observers/region.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/enumerator.h"
#include "heed/base/error.h"
#include "ops/observers/row_values.h"

namespace heed {
namespace {

std::int64_t resolved_end(const char* what, std::int64_t begin, std::int64_t end,
                          std::int64_t count) {
  const std::int64_t resolved = end == -1 ? count : end;
  if (0 > begin || begin > resolved || resolved > count)
    fail("region", what, fmt::format("[{}, {})", begin, resolved),
         fmt::format("at most [0, {})", count));
  return resolved;
}

}  // namespace

Region Region::resolved(const ObservedShape& shape) const {
  Region region = *this;
  region.batch_end = resolved_end("batches", batch_begin, batch_end, shape.batch);
  region.head_end = resolved_end("heads", head_begin, head_end, shape.heads);
  region.row_end = resolved_end("rows", row_begin, row_end, shape.query_length);
  region.key_end = resolved_end("keys", key_begin, key_end, shape.key_length);
  return region;
}

bool Region::meets(const ObservedRows& rows) const {
  return batch_begin <= rows.batch && rows.batch < batch_end && head_begin <= rows.head &&
         rows.head < head_end && row_begin < rows.row_end && rows.row_begin < row_end;
}

TileParts parts_of(ObservedValue value) {
  require_enumerator("observe", "value", value, ObservedValue::kBeforeMask);
  return {.scores = value == ObservedValue::kScores,
          .before_mask = value != ObservedValue::kWeights && value != ObservedValue::kScores};
}

const float* values_of(const ObservedTile& tile, ObservedValue value) {
  switch (value) {
    case ObservedValue::kScores:
      return tile.scores;
    case ObservedValue::kBeforeSoftcap:
      return tile.before_softcap;
    case ObservedValue::kBeforeBias:
      return tile.before_bias;
    case ObservedValue::kBeforeMask:
      return tile.before_mask;
    case ObservedValue::kWeights:
      break;
  }
  return tile.weights;
}

RegionObserver::RegionObserver(const Region& region, ObservedValue value)
    : asked_(region), value_(value) {}

bool RegionObserver::needs(const ObservedRows& rows) const { return region_.meets(rows); }

bool RegionObserver::needs(const ObservedRows&, std::int64_t key_begin,
                           std::int64_t key_end) const {
  return region_.meets(key_begin, key_end);
}

void RegionObserver::begin(const ObservedShape& shape) {
  region_ = asked_.resolved(shape);
  values = Tensor::empty({region_.batches(), region_.heads(), region_.rows(), region_.keys()});
  std::fill_n(values.data<float>(), values.element_count(), absent(value_));
}

std::unique_ptr<Observer::State> RegionObserver::rows(const ObservedRows& rows) const {
  return std::make_unique<RowValues>(rows_inside(region_, rows), region_.key_begin, region_.key_end,
                                     value_);
}

void RegionObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  static_cast<RowValues&>(state).take(tile);
}

void RegionObserver::merge(State& state, const ObservedRows& rows) {
  const auto& gathered = static_cast<const RowValues&>(state);
  const std::int64_t first = std::max(rows.row_begin, region_.row_begin) - region_.row_begin;
  std::ranges::copy(
      gathered.values,
      values.data<float>() + (region_.place(rows) * values.dim(2) + first) * values.dim(3));
}

}  // namespace heed
