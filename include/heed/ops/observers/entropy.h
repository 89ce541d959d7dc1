// How spread a row's attention is.
#pragma once

#include <string_view>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// -sum_j p_ij ln p_ij, in nats; 0 for rows without keys and past query_length. NaN weights give
/// NaN.
class EntropyObserver : public Observer {
 public:
  std::string_view name() const override { return "entropy"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {.log_weights = true}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor entropy;  // [B, H, Tq], f32
};

}  // namespace heed
