#include "heed/inspect/head_scores.h"

#include <algorithm>
#include <array>

#include "inspect/heads/head_score_observer.h"
#include "kernels/observe.h"

namespace heed {
namespace {

using PerRow = std::array<double, kMaskRows>;

struct BlockState final : Observer::State {
  PerRow previous = {}, self = {}, next = {}, first = {}, entropy = {};
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
      if (key == row) self[lane] = weight;
      if (key == row + 1) next[lane] = weight;
      if (key == 0) first[lane] = weight;
      if (key == 0 || key == row || key == row - 1) continue;
      has_elsewhere |= bit;
      elsewhere[lane] = std::max(elsewhere[lane], weight);
    }
  }
};

double mean(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

void HeadScoreObserver::begin(const ObservedShape& shape) {
  sums_.assign(static_cast<std::size_t>(shape.heads), {});
}

std::unique_ptr<Observer::State> HeadScoreObserver::rows(const ObservedRows&) const {
  return std::make_unique<BlockState>();
}

void HeadScoreObserver::tile(State& state, const ObservedRows& rows,
                             const ObservedTile& tile) const {
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

void HeadScoreObserver::merge(State& state, const ObservedRows& rows) {
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
    sum.self += block.self[lane];
    sum.first += block.first[lane];
  }
}

std::vector<HeadScores> HeadScoreObserver::scores(int layer) const {
  std::vector<HeadScores> scores;
  for (const Sums& sum : sums_) {
    const std::int64_t later = sum.rows - 1;
    scores.push_back({.layer = layer,
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

std::vector<HeadScores> score_heads(const LayerAttention& layer, int index) {
  HeadScoreObserver observer;
  Observer* const observers[] = {&observer};
  observe(layer.args(), layer.attended(), observers);
  return observer.scores(index);
}

std::vector<HeadScores> score_heads(const Session& session) {
  std::vector<HeadScores> scores;
  for (std::size_t layer = 0; layer < session.layers.size(); ++layer)
    std::ranges::copy(score_heads(session.layers[layer], static_cast<int>(layer)),
                      std::back_inserter(scores));
  return scores;
}

}  // namespace heed
