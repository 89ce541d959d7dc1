// How far away the keys are that a head attends to: the mean over rows of sum_j p |i - j|.
#include "heed/ops/observers/expected_distance.h"
#include "inspect/heads/scores.h"

namespace heed {
namespace {

class DistanceScore final : public ScoreObserver {
 public:
  std::string_view name() const override { return distance_.name(); }
  void begin(const ObservedShape& shape) override { distance_.begin(shape); }
  TileParts parts() const override { return distance_.parts(); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override {
    return distance_.rows(rows);
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    distance_.tile(state, rows, tile);
  }
  void merge(State& state, const ObservedRows& rows) override { distance_.merge(state, rows); }

  double score(std::int64_t head, int) const override {
    const std::int64_t count = distance_.distance.dim(2);
    const float* of_row = distance_.distance.data<float>() + head * count;
    double sum = 0;
    for (std::int64_t row = 0; row < count; ++row) sum += static_cast<double>(of_row[row]);
    return count > 0 ? sum / static_cast<double>(count) : 0;
  }

 private:
  ExpectedDistanceObserver distance_;
};

}  // namespace

std::unique_ptr<ScoreObserver> distance_score() { return std::make_unique<DistanceScore>(); }

}  // namespace heed
