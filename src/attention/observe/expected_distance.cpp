#include "attention/observe/row_numbers.h"
#include "attention/observe/tile_sums.h"
#include "heed/observers.h"

namespace heed {

void ExpectedDistanceObserver::begin(const ObservedShape& shape) { distance = row_answer(shape); }

std::unique_ptr<Observer::State> ExpectedDistanceObserver::rows(const ObservedRows&) const {
  return std::make_unique<RowNumbers>();
}

void ExpectedDistanceObserver::tile(State& state, const ObservedRows& rows,
                                    const ObservedTile& tile) const {
  const std::int64_t first = rows.q_offset + rows.row_begin - rows.key_offset - tile.key_begin;
  kernels::add_distances(tile.weights, tile.key_end - tile.key_begin, first,
                         static_cast<RowNumbers&>(state).value.data());
}

void ExpectedDistanceObserver::merge(State& state, const ObservedRows& rows) {
  store_row_numbers(static_cast<const RowNumbers&>(state).value, rows, distance);
}

}  // namespace heed
