#include <cmath>

#include "attention/observe/row_numbers.h"
#include "attention/observe/tile_sums.h"
#include "heed/error.h"
#include "heed/observers.h"

namespace heed {

void EntropyObserver::begin(const ObservedShape& shape) {
  if (shape.normaliser == Normaliser::kNone)
    fail("entropy", "scores.normaliser", "none", "one that makes probabilities");
  entropy = row_answer(shape);
}

std::unique_ptr<Observer::State> EntropyObserver::rows(const ObservedRows&) const {
  return std::make_unique<RowNumbers>();
}

void EntropyObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  kernels::add_entropies(tile.weights, tile.log_weights, tile.key_end - tile.key_begin,
                         static_cast<RowNumbers&>(state).value.data());
}

void EntropyObserver::merge(State& state, const ObservedRows& rows) {
  auto& sums = static_cast<RowNumbers&>(state).value;
  for (std::int64_t i = 0; rows.sink != nullptr && i < rows.row_end - rows.row_begin; ++i)
    if (rows.sink[i] != 0)
      sums[static_cast<std::size_t>(i)] -= rows.sink[i] * std::log(rows.sink[i]);
  for (double& sum : sums)
    if (sum < 0) sum = 0;  // a weight may round to a little more than 1
  store_row_numbers(sums, rows, entropy);
}

}  // namespace heed
