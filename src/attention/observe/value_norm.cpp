#include "attention/observe/tile_sums.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

struct Weighted : Observer::State {
  std::unique_ptr<Observer::State> of;
  alignas(64) float weights[kObservedKeys * kMaskRows];
};

}  // namespace

TileParts ValueNormObserver::parts() const {
  TileParts parts = weighted_.parts();
  parts.value_norms = true;
  return parts;
}

void ValueNormObserver::begin(const ObservedShape& shape) {
  if (weighted_.parts().log_weights)
    fail("value_norm", "weighted", weighted_.name(),
         "one of weights (weights times norms have no logarithms)");
  weighted_.begin(shape);
}

std::unique_ptr<Observer::State> ValueNormObserver::rows(const ObservedRows& rows) const {
  auto state = std::make_unique<Weighted>();
  state->of = weighted_.rows(rows);
  return state;
}

void ValueNormObserver::tile(State& state, const ObservedRows& rows,
                             const ObservedTile& tile) const {
  auto& weighted = static_cast<Weighted&>(state);
  kernels::scale_keys(tile.weights, tile.visible, tile.value_norms, tile.key_end - tile.key_begin,
                      weighted.weights);
  ObservedTile scaled = tile;
  scaled.weights = weighted.weights;
  weighted_.tile(*weighted.of, rows, scaled);
}

void ValueNormObserver::merge(State& state, const ObservedRows& rows) {
  weighted_.merge(*static_cast<Weighted&>(state).of, rows);
}

}  // namespace heed
