// Scores that are means over the rows of a head, raw and sink-adjusted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "inspect/heads/scores.h"

namespace heed {

/// One row's values. Its sink is its weight on the first token; `adjusted` is the value of the row
/// without the sink, renormalised, times the remaining share 1 - sink.
struct RowScore {
  double raw = 0;
  bool has_raw = false;  // the row counts
  double adjusted = 0;
  bool has_adjusted = false;
};

/// Sums rows: a derived score provides the value of each row of a block.
class RowScores : public ScoreObserver {
 public:
  explicit RowScores(int scores) : scores_(static_cast<std::size_t>(scores)) {}
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  double score(std::int64_t head, int which, ScoreForm form) const override;
  void keep_rows(std::int64_t head) override { kept_head_ = head; }
  bool needs(const ObservedRows& rows) const override {
    return kept_head_ < 0 || rows.head == kept_head_;
  }
  using Observer::needs;
  std::vector<float> of_rows(int which, ScoreForm form) const override;

 protected:
  /// Called in `merge`, row by row. `sink` is the row's weight on the first token.
  void add(const ObservedRows& rows, int which, const RowScore& row, double sink);

 private:
  struct Sums {
    double raw = 0, adjusted = 0, left = 0;
    std::int64_t rows = 0;
  };
  std::size_t scores_;
  std::int64_t kept_head_ = -1;
  std::vector<Sums> sums_;                               // [H, scores]
  std::vector<std::array<std::vector<float>, 2>> kept_;  // by score, for the kept head
};

/// The state of a block of rows: their weights on the first token.
struct RowBlock : Observer::State {
  std::array<float, kMaskRows> sinks = {};
};

/// Row scores computed from blocks of a type derived from `RowBlock`.
template <typename Block>
class BlockScores : public RowScores {
 public:
  using RowScores::RowScores;
  std::unique_ptr<State> rows(const ObservedRows&) const final { return std::make_unique<Block>(); }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const final {
    auto& block = static_cast<Block&>(state);
    if (tile.key_begin == 0) std::copy_n(tile.weights, kMaskRows, block.sinks.begin());
    read(block, rows, tile);
  }
  void merge(State& state, const ObservedRows& rows) final {
    const auto& block = static_cast<const Block&>(state);
    for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
      const auto lane = static_cast<std::size_t>(row - rows.row_begin);
      add_row(block, rows, row, lane, static_cast<double>(block.sinks[lane]));
    }
  }

 protected:
  virtual void read(Block& block, const ObservedRows& rows, const ObservedTile& tile) const = 0;
  /// Adds the scores of the block's row number `lane`.
  virtual void add_row(const Block& block, const ObservedRows& rows, std::int64_t row,
                       std::size_t lane, double sink) = 0;
};

}  // namespace heed
