// The scores of every head of a layer, for a sweep of whoever calls `observe`.
#pragma once

#include <string_view>
#include <vector>

#include "heed/inspect/head_scores.h"
#include "heed/ops/observe.h"

namespace heed {

class HeadScoreObserver final : public Observer {
 public:
  std::string_view name() const override { return "head_scores"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {.log_weights = true}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  /// One entry a head.
  std::vector<HeadScores> scores(int layer) const;

 private:
  struct Sums {
    double previous = 0, self = 0, next = 0, first = 0, entropy = 0, elsewhere = 0;
    std::int64_t rows = 0, rows_elsewhere = 0;
  };
  std::vector<Sums> sums_;  // [H]
};

}  // namespace heed
