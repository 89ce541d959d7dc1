// How far away a row looks.
#pragma once

#include <string_view>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// sum_j p_ij |p_i - p_j|; 0 for rows without keys and past query_length.
class ExpectedDistanceObserver : public Observer {
 public:
  std::string_view name() const override { return "expected_distance"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor distance;  // [B, H, Tq], f32
};

}  // namespace heed
