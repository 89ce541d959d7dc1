// The weights or scores at chosen indices of the matrix [B, H, Tq, Tk], and nothing else of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "heed/ops/observe.h"
#include "heed/ops/observers/region.h"
#include "heed/tensor/tensor.h"

namespace heed::python {

/// Rising indices of each axis: batch, head, query, key.
using Selected = std::array<std::vector<std::int64_t>, 4>;

/// Every combination of the selected indices.
class SelectionObserver : public Observer {
 public:
  SelectionObserver(Selected selected, ObservedValue value);
  std::string_view name() const override { return "selection"; }
  void begin(const ObservedShape& shape) override;
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override;
  bool needs(const ObservedRows& rows) const override;
  bool needs(const ObservedRows& rows, std::int64_t key_begin, std::int64_t key_end) const override;
  TileParts parts() const override { return parts_of(value_); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& /*state*/, const ObservedRows& /*rows*/) override {}

  Tensor values;  // as many as there are selected, f32

 private:
  float* row_of(const ObservedRows& rows, std::size_t query) const;

  Selected selected_;
  ObservedValue value_;
};

}  // namespace heed::python
