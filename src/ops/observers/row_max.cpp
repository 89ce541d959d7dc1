#include "heed/ops/observers/row_max.h"

#include <cmath>

#include "ops/observers/row_numbers.h"

namespace heed {

void RowMaxObserver::begin(const ObservedShape& shape) { maximum = row_answer(shape); }

std::unique_ptr<Observer::State> RowMaxObserver::rows(const ObservedRows&) const {
  return std::make_unique<RowNumbers>();
}

void RowMaxObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  const float* weight = tile.weights;
  for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key)
    for (double& largest : static_cast<RowNumbers&>(state).value) {
      const auto found = static_cast<double>(*weight++);
      if (!(found <= largest) && !std::isnan(largest)) largest = found;  // NaN, once seen, stays
    }
}

void RowMaxObserver::merge(State& state, const ObservedRows& rows) {
  store_row_numbers(state, rows, maximum);
}

}  // namespace heed
