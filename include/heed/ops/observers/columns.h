// The weights or scores of chosen keys.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heed/ops/observe.h"
#include "heed/ops/observers/region.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// One key of one query head.
struct HeadKey {
  std::int64_t head = 0;
  std::int64_t key = 0;
};

/// The chosen keys, as all rows see them.
class ColumnsObserver : public Observer {
 public:
  explicit ColumnsObserver(std::vector<HeadKey> chosen,
                           ObservedValue value = ObservedValue::kWeights);
  /// The same keys of every head: `values` is [B, H * keys, Tq], the heads outermost.
  explicit ColumnsObserver(std::vector<std::int64_t> keys_of_every_head,
                           ObservedValue value = ObservedValue::kWeights);
  std::string_view name() const override { return "columns"; }
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override;
  bool needs(const ObservedRows& rows) const override {
    return rows_needed(rows.batch, rows.head).end > 0;
  }
  bool needs(const ObservedRows& rows, std::int64_t key_begin, std::int64_t key_end) const override;
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return parts_of(value_); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor values;  // [B, chosen, Tq], f32, in the order in which they were chosen

 private:
  std::vector<HeadKey> chosen_;
  std::vector<std::int64_t> keys_of_every_head_;
  ObservedValue value_;
};

}  // namespace heed
