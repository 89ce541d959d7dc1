// How much of a row stays near: its weight on itself and the four tokens on either side, averaged
// over the rows that see anything else. And how far away a head's keys are: the mean over rows of
// sum_j p |i - j|.
#include <algorithm>
#include <cmath>

#include "attention/observe/tile_sums.h"
#include "inspect/heads/row_scores.h"

namespace heed {
namespace {

constexpr std::int64_t kNear = 4;

bool is_near(std::int64_t row, std::int64_t key) {
  return key >= row - kNear && key <= row + kNear;
}

struct NearRows final : RowBlock {
  std::array<double, kMaskRows> near = {};
  std::uint64_t sees_far = 0;          // one bit per row
  std::uint64_t sees_far_of_rest = 0;  // not counting the first token
};

class LocalScore final : public BlockScores<NearRows> {
 public:
  LocalScore() : BlockScores(1) {}
  std::string_view name() const override { return "local_score"; }
  std::optional<bool> counts(int, std::int64_t row, std::int64_t key) const override {
    return is_near(row, key);
  }

 private:
  void read(NearRows& block, const ObservedRows& rows, const ObservedTile& tile) const override {
    for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
      const std::int64_t at = key - tile.key_begin;
      std::uint64_t near = 0;  // rows near this key
      const std::int64_t end = std::min(key + kNear + 1, rows.row_end);
      for (std::int64_t row = std::max(key - kNear, rows.row_begin); row < end; ++row) {
        const std::int64_t lane = row - rows.row_begin;
        near |= std::uint64_t{1} << lane;
        if ((tile.visible[at] >> lane & 1) != 0)
          block.near[static_cast<std::size_t>(lane)] +=
              static_cast<double>(tile.weights[at * kMaskRows + lane]);
      }
      block.sees_far |= tile.visible[at] & ~near;
      if (key > 0) block.sees_far_of_rest |= tile.visible[at] & ~near;
    }
  }

  void add_row(const NearRows& block, const ObservedRows& rows, std::int64_t row, std::size_t lane,
               double sink) override {
    const double without_sink = block.near[lane] - (is_near(row, 0) ? sink : 0);
    add(rows, 0,
        {block.near[lane], (block.sees_far >> lane & 1) != 0, without_sink,
         (block.sees_far_of_rest >> lane & 1) != 0},
        sink);
  }
};

struct DistanceRows final : RowBlock {
  std::array<double, kMaskRows> distance = {};
};

class DistanceScore final : public BlockScores<DistanceRows> {
 public:
  DistanceScore() : BlockScores(1) {}
  std::string_view name() const override { return "distance_score"; }

 private:
  void read(DistanceRows& block, const ObservedRows& rows,
            const ObservedTile& tile) const override {
    kernels::add_distances(tile.weights, tile.key_end - tile.key_begin,
                           place(rows, rows.row_begin) - tile.key_begin, block.distance.data());
  }
  void add_row(const DistanceRows& block, const ObservedRows& rows, std::int64_t row,
               std::size_t lane, double sink) override {
    const double of_sink = sink * static_cast<double>(std::abs(place(rows, row)));
    add(rows, 0, {block.distance[lane], true, block.distance[lane] - of_sink, true}, sink);
  }
  // The position of a query, counted from the first key.
  static std::int64_t place(const ObservedRows& rows, std::int64_t row) {
    return rows.q_offset + row - rows.key_offset;
  }
};

}  // namespace

ScoreObserverPointer local_score(const ScoredLayer&) { return std::make_unique<LocalScore>(); }

ScoreObserverPointer distance_score(const ScoredLayer&) {
  return std::make_unique<DistanceScore>();
}

}  // namespace heed
