// How far away a head's keys are: the mean over rows of sum_j p |i - j|.
#include <cmath>

#include "attention/observe/tile_sums.h"
#include "inspect/heads/row_scores.h"

namespace heed {
namespace {

struct DistanceRows final : Observer::State {
  std::array<double, kMaskRows> distance = {};
  SinkOfRows sink;
};

class DistanceScore final : public RowScores {
 public:
  DistanceScore() : RowScores(1) {}
  std::string_view name() const override { return "distance_score"; }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<DistanceRows>();
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    auto& block = static_cast<DistanceRows&>(state);
    block.sink.see(tile);
    kernels::add_distances(tile.weights, tile.key_end - tile.key_begin,
                           place(rows, rows.row_begin) - tile.key_begin, block.distance.data());
  }
  void merge(State& state, const ObservedRows& rows) override {
    const auto& block = static_cast<const DistanceRows&>(state);
    for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
      const auto lane = static_cast<std::size_t>(row - rows.row_begin);
      const auto sink = static_cast<double>(block.sink.weight[lane]);
      const double of_sink = sink * static_cast<double>(std::abs(place(rows, row)));
      add(rows, 0, {block.distance[lane], true, block.distance[lane] - of_sink, true}, sink);
    }
  }

 private:
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
