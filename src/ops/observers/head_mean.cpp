#include "heed/ops/observers/head_mean.h"

#include <algorithm>

#include "ops/observers/row_values.h"

namespace heed {

void HeadMeanObserver::begin(const ObservedShape& shape) {
  region_ = asked_.resolved(shape);
  mean = Tensor::zeros({region_.batches(), region_.rows(), region_.keys()});
}

std::unique_ptr<Observer::State> HeadMeanObserver::rows(const ObservedRows& rows) const {
  return std::make_unique<RowValues>(rows_inside(region_, rows), region_.key_begin, region_.key_end,
                                     ObservedValue::kWeights);
}

void HeadMeanObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  static_cast<RowValues&>(state).take(tile);
}

void HeadMeanObserver::merge(State& state, const ObservedRows& rows) {
  const std::int64_t first = std::max(rows.row_begin, region_.row_begin) - region_.row_begin;
  float* sum =
      mean.data<float>() + ((rows.batch - region_.batch_begin) * mean.dim(1) + first) * mean.dim(2);
  for (const float weight : static_cast<const RowValues&>(state).values) *sum++ += weight;
}

void HeadMeanObserver::finish() {
  const auto heads = static_cast<float>(region_.heads());
  for (std::int64_t e = 0; e < mean.element_count(); ++e)
    if (heads > 0) mean.data<float>()[e] /= heads;
}

}  // namespace heed
