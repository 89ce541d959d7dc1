#include <algorithm>
#include <array>
#include <limits>

#include "attention/observe/row_numbers.h"
#include "attention/observe/tile_sums.h"
#include "heed/observers.h"

namespace heed {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

struct Largest : Observer::State {
  std::array<float, kMaskRows> value;
};

}  // namespace

void RowMaxObserver::begin(const ObservedShape& shape) {
  maximum = row_answer(shape);
  signed_ = shape.normaliser == Normaliser::kNone;
}

std::unique_ptr<Observer::State> RowMaxObserver::rows(const ObservedRows&) const {
  auto state = std::make_unique<Largest>();
  state->value.fill(signed_ ? kLowest : 0);
  return state;
}

void RowMaxObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  float* largest = static_cast<Largest&>(state).value.data();
  const std::int64_t keys = tile.key_end - tile.key_begin;
  if (!signed_) return kernels::raise_to_keys(tile.weights, keys, largest);
  alignas(64) std::array<float, kMaskRows> line;
  for (std::int64_t j = 0; j < keys; ++j) {
    for (std::int64_t i = 0; i < kMaskRows; ++i)
      line[static_cast<std::size_t>(i)] =
          (tile.visible[j] >> i & 1) != 0 ? tile.weights[j * kMaskRows + i] : kLowest;
    kernels::raise_to_keys(line.data(), 1, largest);
  }
}

void RowMaxObserver::merge(State& state, const ObservedRows& rows) {
  auto& largest = static_cast<Largest&>(state).value;
  if (signed_) std::ranges::replace(largest, kLowest, 0.0F);  // of a row that saw no key
  store_row_numbers(largest, rows, maximum);
}

}  // namespace heed
