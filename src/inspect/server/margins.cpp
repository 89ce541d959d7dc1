#include "inspect/server/margins.h"

#include <algorithm>
#include <cmath>

namespace heed::server {
namespace {

using Lanes = std::array<float, kMaskRows>;

struct BlockSums final : Observer::State {
  explicit BlockSums(std::int64_t keys) : received(static_cast<std::size_t>(keys)) {}
  Lanes lse = {};
  std::array<double, kMaskRows> sum = {};
  std::array<double, kMaskRows> entropy = {};
  std::vector<float> received;  // by these rows
};

// In f32 over the keys of one tile: 64 terms lose less than a weight's own rounding.
struct TileSums {
  Lanes sum = {};
  Lanes entropy = {};

  float add(const Lanes& lse, const float* weights, const float* scores) {
    Lanes parts;
    for (std::size_t i = 0; i < kMaskRows; ++i) {
      const float weight = weights[i];
      const float term = weight * (lse[i] - scores[i]);  // NaN where masked
      sum[i] += weight;
      entropy[i] += weight != 0 ? term : 0;  // p ln p -> 0
      parts[i] = weight;
    }
    for (std::size_t half = kMaskRows / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) parts[i] += parts[i + half];
    return parts[0];
  }
};

}  // namespace

void MarginsObserver::begin(const ObservedShape& shape) {
  heads_.resize(static_cast<std::size_t>(shape.heads));
  for (std::size_t head = 0; head < heads_.size(); ++head) {
    if (head_ && static_cast<std::int64_t>(head) != *head_) continue;
    heads_[head].received.assign(static_cast<std::size_t>(shape.key_length), 0);
    heads_[head].entropy.assign(static_cast<std::size_t>(shape.query_length), 0);
  }
}

std::unique_ptr<Observer::State> MarginsObserver::rows(const ObservedRows& rows) const {
  auto state = std::make_unique<BlockSums>(rows.key_length);
  const std::int64_t first = rows.head * layer_.lse.dim(2);
  for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row)
    state->lse[static_cast<std::size_t>(row - rows.row_begin)] =
        layer_.lse.data<float>()[first + row];
  return state;
}

void MarginsObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  auto& block = static_cast<BlockSums&>(state);
  TileSums sums;
  for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
    const std::int64_t at = (key - tile.key_begin) * kMaskRows;
    block.received[static_cast<std::size_t>(key)] =
        sums.add(block.lse, tile.weights + at, tile.scores + at);
  }
  for (std::size_t i = 0; i < kMaskRows; ++i) {
    block.sum[i] += static_cast<double>(sums.sum[i]);
    block.entropy[i] += static_cast<double>(sums.entropy[i]);
  }
}

void MarginsObserver::merge(State& state, const ObservedRows& rows) {
  const auto& block = static_cast<const BlockSums&>(state);
  Head& head = heads_[static_cast<std::size_t>(rows.head)];
  for (std::size_t key = 0; key < block.received.size(); ++key)
    head.received[key] += static_cast<double>(block.received[key]);
  for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
    const auto lane = static_cast<std::size_t>(row - rows.row_begin);
    head.entropy[static_cast<std::size_t>(row)] = std::max(block.entropy[lane], 0.0);
    head.row_sum_error = std::max(head.row_sum_error, std::abs(block.sum[lane] - 1));
  }
}

Margins MarginsObserver::margins(std::int64_t index) const {
  const Head& head = heads_[static_cast<std::size_t>(index)];
  Margins margins{.received = {}, .keys_in_use = {}, .row_sum_error = head.row_sum_error};
  for (const double sum : head.received) margins.received.push_back(static_cast<float>(sum));
  for (const double entropy : head.entropy)
    margins.keys_in_use.push_back(static_cast<float>(std::exp(entropy)));
  return margins;
}

}  // namespace heed::server
