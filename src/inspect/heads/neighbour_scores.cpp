// What a row gives to its neighbours, to the first token and to the rest, and its entropy: six
// scores in one observer, since all of them look at the same few keys.
//
// Means over the rows i of a head's weights p[i, j], for positions that a row has: a row without a
// previous token does not count for `previous`, and so on. 0 where no row counts.
//   previous   p[i, i - 1]   over i >= 1
//   current    p[i, i]       over i >= 1: the first row has no choice when causal
//   next       p[i, i + 1]   over i <= T - 2
//   sink       p[i, 0]       over i >= 1
//   entropy    -sum_j p ln p over all rows, in nats
//   elsewhere  the largest p[i, j] past the first, previous and own token, over rows that have one
#include <algorithm>
#include <array>

#include "inspect/heads/scores.h"
#include "kernels/observe.h"

namespace heed {
namespace {

using PerRow = std::array<double, kMaskRows>;

struct BlockState final : Observer::State {
  PerRow previous = {}, current = {}, next = {}, sink = {}, entropy = {};
  std::array<float, kMaskRows> elsewhere = {};
  std::uint64_t has_elsewhere = 0;  // one bit a row

  // What all rows of the block have elsewhere.
  void add_far(const ObservedTile& tile, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    const std::int64_t first_key = begin - tile.key_begin;
    kernels::raise_to_keys(tile.weights + first_key * kMaskRows, end - begin, elsewhere.data());
    for (std::int64_t at = first_key; at < end - tile.key_begin; ++at)
      has_elsewhere |= tile.visible[at];
  }

  // What is the first key, or near the diagonal, to some rows.
  void add_near(const ObservedRows& rows, const ObservedTile& tile, std::int64_t key) {
    const std::int64_t at = key - tile.key_begin;
    for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
      const auto lane = static_cast<std::size_t>(row - rows.row_begin);
      const std::uint64_t bit = std::uint64_t{1} << lane;
      if ((tile.visible[at] & bit) == 0) continue;
      const float weight = tile.weights[at * kMaskRows + static_cast<std::int64_t>(lane)];
      if (key == row - 1) previous[lane] = weight;
      if (key == row) current[lane] = weight;
      if (key == row + 1) next[lane] = weight;
      if (key == 0) sink[lane] = weight;
      if (key == 0 || key == row || key == row - 1) continue;
      has_elsewhere |= bit;
      elsewhere[lane] = std::max(elsewhere[lane], weight);
    }
  }
};

double mean_of(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

class NeighbourScores final : public ScoreObserver {
 public:
  std::string_view name() const override { return "neighbour_scores"; }
  void begin(const ObservedShape& shape) override {
    sums_.assign(static_cast<std::size_t>(shape.heads), {});
  }
  TileParts parts() const override { return {.log_weights = true}; }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<BlockState>();
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  double score(std::int64_t head, int which) const override;

 private:
  struct Sums {
    double previous = 0, current = 0, next = 0, sink = 0, entropy = 0, elsewhere = 0;
    std::int64_t rows = 0, rows_elsewhere = 0;
  };
  std::vector<Sums> sums_;  // [H]
};

void NeighbourScores::tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const {
  auto& block = static_cast<BlockState&>(state);
  kernels::add_entropies(tile.weights, tile.log_weights, tile.key_end - tile.key_begin,
                         block.entropy.data());
  std::int64_t begin = tile.key_begin;
  if (begin == 0) block.add_near(rows, tile, begin++);
  const std::int64_t near = std::clamp(rows.row_begin - 1, begin, tile.key_end);
  const std::int64_t far = std::clamp(rows.row_end + 1, near, tile.key_end);
  block.add_far(tile, begin, near);
  for (std::int64_t key = near; key < far; ++key) block.add_near(rows, tile, key);
  block.add_far(tile, far, tile.key_end);
}

void NeighbourScores::merge(State& state, const ObservedRows& rows) {
  const auto& block = static_cast<const BlockState&>(state);
  Sums& sum = sums_[static_cast<std::size_t>(rows.head)];
  for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
    const auto lane = static_cast<std::size_t>(row - rows.row_begin);
    ++sum.rows;
    sum.entropy += std::max(block.entropy[lane], 0.0);  // a weight may round to a bit more than 1
    sum.next += block.next[lane];
    if ((block.has_elsewhere >> lane & 1) != 0) {
      sum.elsewhere += static_cast<double>(block.elsewhere[lane]);
      ++sum.rows_elsewhere;
    }
    if (row == 0) continue;
    sum.previous += block.previous[lane];
    sum.current += block.current[lane];
    sum.sink += block.sink[lane];
  }
}

double NeighbourScores::score(std::int64_t head, int which) const {
  const Sums& sum = sums_[static_cast<std::size_t>(head)];
  const std::int64_t later = sum.rows - 1;
  const std::array<double, 6> means = {
      mean_of(sum.previous, later),   mean_of(sum.current, later),
      mean_of(sum.next, later),       mean_of(sum.sink, later),
      mean_of(sum.entropy, sum.rows), mean_of(sum.elsewhere, sum.rows_elsewhere)};
  return means.at(static_cast<std::size_t>(which));
}

}  // namespace

std::unique_ptr<ScoreObserver> neighbour_scores() { return std::make_unique<NeighbourScores>(); }

}  // namespace heed
