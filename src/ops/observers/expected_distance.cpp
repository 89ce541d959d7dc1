#include "heed/ops/observers/expected_distance.h"

#include <cmath>

#include "ops/observers/row_numbers.h"

namespace heed {

void ExpectedDistanceObserver::begin(const ObservedShape& shape) { distance = row_answer(shape); }

std::unique_ptr<Observer::State> ExpectedDistanceObserver::rows(const ObservedRows&) const {
  return std::make_unique<RowNumbers>();
}

void ExpectedDistanceObserver::tile(State& state, const ObservedRows& rows,
                                    const ObservedTile& tile) const {
  const float* weight = tile.weights;
  for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
    auto away = static_cast<double>(rows.q_offset + rows.row_begin - rows.key_offset - key);
    for (double& sum : static_cast<RowNumbers&>(state).value)
      sum += static_cast<double>(*weight++) * std::abs(away++);
  }
}

void ExpectedDistanceObserver::merge(State& state, const ObservedRows& rows) {
  store_row_numbers(state, rows, distance);
}

}  // namespace heed
