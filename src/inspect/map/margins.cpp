#include "inspect/map/margins.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/observe/tile_sums.h"

namespace heed {
namespace {

struct BlockSums final : Observer::State {
  std::array<double, kMaskRows> sum = {};
};

std::span<const float> of_head(const Tensor& tensor, std::int64_t head) {  // [1, H, n]
  const std::int64_t count = tensor.dim(2);
  return {tensor.data<float>() + head * count, static_cast<std::size_t>(count)};
}

}  // namespace

void RowSumError::begin(const ObservedShape& shape) {
  largest.assign(static_cast<std::size_t>(shape.heads), 0);
}

std::unique_ptr<Observer::State> RowSumError::rows(const ObservedRows&) const {
  return std::make_unique<BlockSums>();
}

void RowSumError::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  kernels::add_keys(tile.weights, tile.key_end - tile.key_begin,
                    static_cast<BlockSums&>(state).sum.data());
}

void RowSumError::merge(State& state, const ObservedRows& rows) {
  const auto& sum = static_cast<const BlockSums&>(state).sum;
  double& of_head = largest[static_cast<std::size_t>(rows.head)];
  for (std::int64_t row = 0; row < rows.row_end - rows.row_begin; ++row) {
    const double error = std::abs(sum[static_cast<std::size_t>(row)] - 1);
    if (std::isnan(error) || error > of_head) of_head = error;  // a NaN stays
  }
}

void MarginsSweep::add_to(std::vector<Observer*>& observers) {
  for (OfHead& part : parts_) observers.push_back(&part);
}

Margins MarginsSweep::margins(std::int64_t head) const {
  const std::span<const float> received = of_head(received_.received, head);
  const double error = error_.largest[static_cast<std::size_t>(head)];
  Margins margins{.received = {received.begin(), received.end()},
                  .keys_in_use = {},
                  .row_sum_error = std::isnan(error) ? std::nullopt : std::optional(error)};
  for (const float entropy : of_head(entropy_.entropy, head))
    margins.keys_in_use.push_back(std::exp(entropy));
  return margins;
}

}  // namespace heed
