#include "inspect/map/margins.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/observe.h"

namespace heed::server {
namespace {

struct BlockSums final : Observer::State {
  explicit BlockSums(std::int64_t keys) : received(static_cast<std::size_t>(keys)) {}
  std::array<double, kMaskRows> sum = {};
  std::array<double, kMaskRows> entropy = {};
  std::vector<double> received;  // by these rows
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
  return std::make_unique<BlockSums>(rows.key_length);
}

void MarginsObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  auto& block = static_cast<BlockSums&>(state);
  const std::int64_t keys = tile.key_end - tile.key_begin;
  kernels::sum_rows(tile.weights, keys, block.received.data() + tile.key_begin);
  kernels::add_keys(tile.weights, keys, block.sum.data());
  kernels::add_entropies(tile.weights, tile.log_weights, keys, block.entropy.data());
}

void MarginsObserver::merge(State& state, const ObservedRows& rows) {
  const auto& block = static_cast<const BlockSums&>(state);
  Head& head = heads_[static_cast<std::size_t>(rows.head)];
  for (std::size_t key = 0; key < block.received.size(); ++key)
    head.received[key] += block.received[key];
  for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
    const auto lane = static_cast<std::size_t>(row - rows.row_begin);
    head.entropy[static_cast<std::size_t>(row)] = std::max(block.entropy[lane], 0.0);
    head.row_sum_error = std::max(head.row_sum_error, std::abs(block.sum[lane] - 1));
  }
}

Margins MarginsObserver::margins(std::int64_t index) const {
  const Head& head = heads_[static_cast<std::size_t>(index)];
  Margins margins{.received = {}, .keys_in_use = {}, .row_sum_error = head.row_sum_error};
  margins.received.reserve(head.received.size());
  margins.keys_in_use.reserve(head.entropy.size());
  for (const double sum : head.received) margins.received.push_back(static_cast<float>(sum));
  for (const double entropy : head.entropy)
    margins.keys_in_use.push_back(static_cast<float>(std::exp(entropy)));
  return margins;
}

}  // namespace heed::server
