// An observer that hands over whole rows of weights, a block at a time, in order.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "heed/ops/observe.h"

namespace heed {

/// Stands for the weight of a key that the mask hides.
inline constexpr float kHidden = -1;

/// One row: weights and scores by key, kHidden and -inf where masked.
struct RowView {
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::span<const float> weights;
  std::span<const float> scores;
};

/// Calls `use` for the wanted rows in the order (head, row). A state holds one block of rows.
class RowBlocks final : public Observer {
 public:
  struct Wanted {
    std::optional<std::int64_t> head = {};  // not given: every head
    std::vector<std::int64_t> rows = {};    // sorted; empty: every row
  };

  RowBlocks(Wanted wanted, std::function<void(const RowView&)> use);

  std::string_view name() const override { return "row_blocks"; }
  void begin(const ObservedShape& shape) override;
  bool needs(const ObservedRows& rows) const override;
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

 private:
  bool wants(std::int64_t row) const;

  Wanted wanted_;
  std::function<void(const RowView&)> use_;
  std::int64_t key_length_ = 0;
};

}  // namespace heed
