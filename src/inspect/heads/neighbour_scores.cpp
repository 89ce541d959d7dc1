// A row's weights on its neighbours, on the first token and on the rest, and its entropy: eight
// scores in one observer, since they read the same few keys.
//
// Means over the rows i of a head's weights p[i, j], for positions that a row has: a row without a
// previous token does not count for `previous`, and so on. 0 where no row counts.
//   0 previous    p[i, i - 1]   over i >= 1
//   1 current     p[i, i]       over rows that see two keys
//   2 next        p[i, i + 1]   over i <= T - 2
//   3 sink        p[i, 0]       over rows that see two keys
//   4 entropy     -sum_j p ln p over all rows, in nats
//   5 elsewhere   the largest p[i, j] past the first, previous, own and next token, over rows that
//                 have one
//   6 normalised  the entropy over the log of the number of visible keys, over rows that see two
//   7 confidence  the largest p[i, j] over rows that see two keys
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "attention/observe/tile_sums.h"
#include "inspect/heads/row_scores.h"

namespace heed {
namespace {

using PerRow = std::array<double, kMaskRows>;

struct NeighbourRows final : Observer::State {
  PerRow previous = {}, current = {}, next = {}, sink = {}, entropy = {};
  std::array<float, kMaskRows> elsewhere = {};
  std::array<std::int32_t, kMaskRows> visible = {};  // number of keys
  std::uint64_t has_elsewhere = 0;                   // one bit per row

  void count_visible(const ObservedTile& tile) {
    std::int32_t full = 0;
    for (std::int64_t at = 0; at < tile.key_end - tile.key_begin; ++at) {
      const std::uint64_t rows = tile.visible[at];
      if (rows == ~std::uint64_t{0}) {
        ++full;
        continue;
      }
      for (std::size_t lane = 0; lane < kMaskRows; ++lane)
        visible[lane] += static_cast<std::int32_t>(rows >> lane & 1);
    }
    for (std::int32_t& count : visible) count += full;
  }

  // Handles keys that are elsewhere for all rows of the block.
  void add_far(const ObservedTile& tile, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    const std::int64_t first_key = begin - tile.key_begin;
    kernels::raise_to_keys(tile.weights + first_key * kMaskRows, end - begin, elsewhere.data());
    for (std::int64_t at = first_key; at < end - tile.key_begin; ++at)
      has_elsewhere |= tile.visible[at];
  }

  // Handles keys that are the first, or near the diagonal, for some rows.
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
      if (key == 0 || std::abs(key - row) <= 1) continue;
      has_elsewhere |= bit;
      elsewhere[lane] = std::max(elsewhere[lane], weight);
    }
  }
};

// x ln x, 0 at 0.
double times_log(double x) { return x > 0 ? x * std::log(x) : 0; }

class NeighbourScores final : public RowScores {
 public:
  NeighbourScores() : RowScores(8) {}
  std::string_view name() const override { return "neighbour_scores"; }
  void begin(const ObservedShape& shape) override {
    RowScores::begin(shape);
    queries_ = shape.query_length;
  }
  TileParts parts() const override { return {.log_weights = true}; }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<NeighbourRows>();
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  std::optional<bool> counts(int which, std::int64_t row, std::int64_t key) const override;

 private:
  void add_neighbours(const NeighbourRows& block, const ObservedRows& rows, std::int64_t row);
  void add_entropies(const NeighbourRows& block, const ObservedRows& rows, std::size_t lane);

  std::int64_t queries_ = 0;
};

void NeighbourScores::tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const {
  auto& block = static_cast<NeighbourRows&>(state);
  kernels::add_entropies(tile.weights, tile.log_weights, tile.key_end - tile.key_begin,
                         block.entropy.data());
  block.count_visible(tile);
  std::int64_t begin = tile.key_begin;
  if (begin == 0) block.add_near(rows, tile, begin++);
  const std::int64_t near = std::clamp(rows.row_begin - 1, begin, tile.key_end);
  const std::int64_t far = std::clamp(rows.row_end + 1, near, tile.key_end);
  block.add_far(tile, begin, near);
  for (std::int64_t key = near; key < far; ++key) block.add_near(rows, tile, key);
  block.add_far(tile, far, tile.key_end);
}

void NeighbourScores::merge(State& state, const ObservedRows& rows) {
  const auto& block = static_cast<const NeighbourRows&>(state);
  for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
    add_neighbours(block, rows, row);
    add_entropies(block, rows, static_cast<std::size_t>(row - rows.row_begin));
  }
}

void NeighbourScores::add_neighbours(const NeighbourRows& block, const ObservedRows& rows,
                                     std::int64_t row) {
  const auto lane = static_cast<std::size_t>(row - rows.row_begin);
  const auto of = [lane](const auto& lanes) { return static_cast<double>(lanes[lane]); };
  const double sink = of(block.sink);
  const bool later = row > 0;
  const bool chooses = block.visible[lane] >= 2;
  const bool has_elsewhere = (block.has_elsewhere >> lane & 1) != 0;
  // Maxima lose NaN, which the entropy of such a row has.
  const double or_nan = std::isnan(block.entropy[lane]) ? kNoScore : 0;
  const double elsewhere = of(block.elsewhere) + or_nan;
  const double past_first = std::max({of(block.elsewhere), row > 1 ? of(block.previous) : 0,
                                      later ? of(block.current) : 0, of(block.next)}) +
                            or_nan;
  add(rows, 0, {of(block.previous), later, of(block.previous), row > 1}, sink);
  add(rows, 1, {of(block.current), chooses, of(block.current), chooses && later}, sink);
  const bool has_next = row < queries_ - 1;
  add(rows, 2, {of(block.next), has_next, of(block.next), has_next}, sink);
  add(rows, 3, {sink, chooses, sink, chooses}, 0);  // the sink's own share is not adjusted
  add(rows, 5, {elsewhere, has_elsewhere, elsewhere, has_elsewhere}, sink);
  add(rows, 7, {std::max(past_first, sink), chooses, past_first, chooses}, sink);
}

void NeighbourScores::add_entropies(const NeighbourRows& block, const ObservedRows& rows,
                                    std::size_t lane) {
  const auto sink = static_cast<double>(block.sink[lane]);
  const double entropy = std::max(block.entropy[lane], 0.0);  // rounding may push a weight above 1
  // The renormalised rest's entropy times its share: subtracts the sink's term.
  const double rest = std::max(entropy + times_log(sink) + times_log(std::max(1 - sink, 0.0)), 0.0);
  const double keys = std::max(block.visible[lane], 1);
  const double others = keys - (sink > 0 ? 1 : 0);
  add(rows, 4, {entropy, true, rest, others >= 1}, sink);
  add(rows, 6,
      {keys >= 2 ? entropy / std::log(keys) : 0, keys >= 2,
       others >= 2 ? rest / std::log(others) : 0, others >= 2},
      sink);
}

std::optional<bool> NeighbourScores::counts(int which, std::int64_t row, std::int64_t key) const {
  switch (which) {
    case 0:
      return key == row - 1;
    case 1:
      return key == row;
    case 2:
      return key == row + 1;
    case 3:
      return key == 0;
    case 5:
      return key != 0 && std::abs(key - row) > 1;
    default:
      return {};
  }
}

}  // namespace

ScoreObserverPointer neighbour_scores(const ScoredLayer&) {
  return std::make_unique<NeighbourScores>();
}

}  // namespace heed
