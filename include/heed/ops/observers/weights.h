// The whole attention matrix, for small cases and for compatibility.
#pragma once

#include <cstdint>
#include <string_view>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// Every weight. Memory is quadratic: `bytes` says how much it will be.
class WeightsObserver : public Observer {
 public:
  static std::int64_t bytes(const ObservedShape& shape) {
    return shape.batch * shape.heads * shape.query_length * shape.key_length * 4;
  }
  std::string_view name() const override { return "weights"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor weights;  // [B, H, Tq, Tk], f32; 0 where masked and past the lengths
};

}  // namespace heed
