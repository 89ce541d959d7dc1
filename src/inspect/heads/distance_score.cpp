// How far away a head's keys are: the mean over rows of sum_j p |i - j|.
#include <cmath>

#include "attention/observe/tile_sums.h"
#include "inspect/heads/row_scores.h"

namespace heed {
namespace {

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

ScoreObserverPointer distance_score(const ScoredLayer&) {
  return std::make_unique<DistanceScore>();
}

}  // namespace heed
