// Observers with one number per row.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attention/observe/tile_sums.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

struct RowNumbers : Observer::State {
  std::array<double, kMaskRows> value = {};
};

// Zeros of shape [B, H, Tq].
Tensor row_answer(const ObservedShape& shape) {
  return Tensor::zeros({shape.batch, shape.heads, shape.query_length});
}

template <typename Number>
void store_row_numbers(const std::array<Number, kMaskRows>& numbers, const ObservedRows& rows,
                       Tensor& answer) {
  float* out = answer.data<float>() + (rows.batch * answer.dim(1) + rows.head) * answer.dim(2) +
               rows.row_begin;
  for (std::int64_t i = 0; i < rows.row_end - rows.row_begin; ++i)
    out[i] = static_cast<float>(numbers[static_cast<std::size_t>(i)]);
}

}  // namespace

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
    if (sum < 0) sum = 0;  // rounding may push a weight slightly above 1
  store_row_numbers(sums, rows, entropy);
}

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

void SinkObserver::begin(const ObservedShape& shape) { share = row_answer(shape); }

void SinkObserver::merge(State&, const ObservedRows& rows) {
  std::array<double, kMaskRows> weights = {};
  std::copy_n(rows.sink, rows.row_end - rows.row_begin, weights.begin());
  store_row_numbers(weights, rows, share);
}

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
  if (signed_) std::ranges::replace(largest, kLowest, 0.0F);  // rows without a visible key
  store_row_numbers(largest, rows, maximum);
}

}  // namespace heed
