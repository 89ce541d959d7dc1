// The weights or scores of chosen rows.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heed/ops/observe.h"
#include "heed/ops/observers/region.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// One row of one head.
struct HeadRow {
  std::int64_t head = 0;
  std::int64_t row = 0;
};

/// The chosen rows, against all keys.
class RowsObserver : public Observer {
 public:
  explicit RowsObserver(std::vector<HeadRow> chosen, ObservedValue value = ObservedValue::kWeights);
  /// The same rows of every head: `values` is [B, H * rows, Tk], the heads outermost.
  explicit RowsObserver(std::vector<std::int64_t> rows_of_every_head,
                        ObservedValue value = ObservedValue::kWeights);
  std::string_view name() const override { return "rows"; }
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override;
  bool needs(const ObservedRows& rows) const override;
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return parts_of(value_); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor values;  // [B, chosen, Tk], f32, in the order in which they were chosen

 private:
  std::vector<HeadRow> chosen_;
  std::vector<std::int64_t> rows_of_every_head_;
  ObservedValue value_;
};

}  // namespace heed
