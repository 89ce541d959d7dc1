// The keys that a row attends to most.
#pragma once

#include <cstdint>
#include <string_view>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// The k largest weights of every row, falling; ties go to the lower key, NaN comes
/// first. Places beyond the visible
/// keys hold key -1 and weight 0.
class TopKObserver : public Observer {
 public:
  explicit TopKObserver(std::int64_t k);  // k >= 1
  std::string_view name() const override { return "top_k"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor keys;     // [B, H, Tq, k], i64: logical indices
  Tensor weights;  // [B, H, Tq, k], f32

 private:
  std::int64_t k_;
};

}  // namespace heed
