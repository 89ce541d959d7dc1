#include "heed/inspect/head_scores.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "heed/ops/observe.h"

namespace heed {
namespace {

using PerRow = std::array<double, kMaskRows>;

struct Sums {
  double previous = 0, self = 0, next = 0, first = 0, entropy = 0, elsewhere = 0;
  std::int64_t rows = 0, rows_elsewhere = 0;
};

struct BlockState final : Observer::State {
  PerRow previous = {}, self = {}, next = {}, first = {}, entropy = {};
  PerRow elsewhere = {};
  std::array<bool, kMaskRows> has_elsewhere = {};
};

// Gathers every score of every head of one layer in one sweep.
class HeadScoreObserver final : public Observer {
 public:
  std::string_view name() const override { return "head_scores"; }
  void begin(const ObservedShape& shape) override {
    sums.assign(static_cast<std::size_t>(shape.heads), {});
  }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<BlockState>();
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    auto& block = static_cast<BlockState&>(state);
    for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
      const float* weights = tile.weights + (key - tile.key_begin) * kMaskRows;
      const std::uint64_t visible = tile.visible[key - tile.key_begin];
      for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
        const std::int64_t lane = row - rows.row_begin;
        if ((visible >> lane & 1U) != 0)
          add(block, static_cast<std::size_t>(lane), key - row, key, weights[lane]);
      }
    }
  }
  void merge(State& state, const ObservedRows& rows) override {
    const auto& block = static_cast<BlockState&>(state);
    Sums& sum = sums[static_cast<std::size_t>(rows.head)];
    for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
      const auto lane = static_cast<std::size_t>(row - rows.row_begin);
      ++sum.rows;
      sum.entropy += block.entropy[lane];
      sum.next += block.next[lane];
      if (block.has_elsewhere[lane]) {
        sum.elsewhere += block.elsewhere[lane];
        ++sum.rows_elsewhere;
      }
      if (row == 0) continue;
      sum.previous += block.previous[lane];
      sum.self += block.self[lane];
      sum.first += block.first[lane];
    }
  }

  std::vector<Sums> sums;  // [H]

 private:
  static void add(BlockState& block, std::size_t lane, std::int64_t distance, std::int64_t key,
                  double weight) {
    if (weight > 0) block.entropy[lane] -= weight * std::log(weight);
    if (distance == -1) block.previous[lane] = weight;
    if (distance == 0) block.self[lane] = weight;
    if (distance == 1) block.next[lane] = weight;
    if (key == 0) block.first[lane] = weight;
    if (key == 0 || distance == 0 || distance == -1) return;
    block.has_elsewhere[lane] = true;
    block.elsewhere[lane] = std::max(block.elsewhere[lane], weight);
  }
};

double mean(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

std::vector<HeadScores> score_heads(const LayerAttention& layer, int index) {
  HeadScoreObserver observer;
  Observer* const observers[] = {&observer};
  observe(layer.args(), layer.attended(), observers);
  std::vector<HeadScores> scores;
  for (const Sums& sum : observer.sums) {
    const std::int64_t later = sum.rows - 1;
    scores.push_back({.layer = index,
                      .head = static_cast<int>(scores.size()),
                      .previous = mean(sum.previous, later),
                      .self = mean(sum.self, later),
                      .next = mean(sum.next, later),
                      .first = mean(sum.first, later),
                      .entropy = mean(sum.entropy, sum.rows),
                      .elsewhere = mean(sum.elsewhere, sum.rows_elsewhere)});
  }
  return scores;
}

std::vector<HeadScores> score_heads(const Session& session) {
  std::vector<HeadScores> scores;
  for (std::size_t layer = 0; layer < session.layers.size(); ++layer)
    std::ranges::copy(score_heads(session.layers[layer], static_cast<int>(layer)),
                      std::back_inserter(scores));
  return scores;
}

}  // namespace heed
