#include "heed/ops/observers/weights.h"

#include <numeric>

#include "ops/observers/row_values.h"

namespace heed {

void WeightsObserver::begin(const ObservedShape& shape) {
  weights = Tensor::zeros({shape.batch, shape.heads, shape.query_length, shape.key_length});
}

std::unique_ptr<Observer::State> WeightsObserver::rows(const ObservedRows& rows) const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows.row_end - rows.row_begin));
  std::iota(all.begin(), all.end(), 0);
  return std::make_unique<RowValues>(std::move(all), 0, weights.dim(3), ObservedValue::kWeights);
}

void WeightsObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  static_cast<RowValues&>(state).take(tile);
}

void WeightsObserver::merge(State& state, const ObservedRows& rows) {
  const auto& values = static_cast<const RowValues&>(state).values;
  float* out = weights.data<float>() +
               ((rows.batch * weights.dim(1) + rows.head) * weights.dim(2) + rows.row_begin) *
                   weights.dim(3);
  std::ranges::copy(values, out);
}

}  // namespace heed
