// The largest weight of a row.
#pragma once

#include <string_view>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// max_j p_ij; 0 for rows without keys and past query_length. NaN weights give NaN.
class RowMaxObserver : public Observer {
 public:
  std::string_view name() const override { return "row_max"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor maximum;  // [B, H, Tq], f32

 private:
  bool signed_ = false;  // weights that may be below 0, the weight of what is masked
};

}  // namespace heed
