// How much of a row stays near: its weight on itself and the four tokens on either side, averaged
// over the rows that see anything else.
#include <algorithm>

#include "inspect/heads/row_scores.h"

namespace heed {
namespace {

constexpr std::int64_t kNear = 4;

bool is_near(std::int64_t row, std::int64_t key) {
  return key >= row - kNear && key <= row + kNear;
}

struct NearRows final : Observer::State {
  std::array<double, kMaskRows> near = {};
  std::uint64_t sees_far = 0;          // one bit per row
  std::uint64_t sees_far_of_rest = 0;  // not counting the first token
  SinkOfRows sink;
};

class LocalScore final : public RowScores {
 public:
  LocalScore() : RowScores(1) {}
  std::string_view name() const override { return "local_score"; }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<NearRows>();
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  std::optional<bool> counts(int, std::int64_t row, std::int64_t key) const override {
    return is_near(row, key);
  }
};

void LocalScore::tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const {
  auto& block = static_cast<NearRows&>(state);
  block.sink.see(tile);
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

void LocalScore::merge(State& state, const ObservedRows& rows) {
  const auto& block = static_cast<const NearRows&>(state);
  for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
    const auto lane = static_cast<std::size_t>(row - rows.row_begin);
    const auto sink = static_cast<double>(block.sink.weight[lane]);
    const double without_sink = block.near[lane] - (is_near(row, 0) ? sink : 0);
    add(rows, 0,
        {block.near[lane], (block.sees_far >> lane & 1) != 0, without_sink,
         (block.sees_far_of_rest >> lane & 1) != 0},
        sink);
  }
}

}  // namespace

ScoreObserverPointer local_score(const ScoredLayer&) { return std::make_unique<LocalScore>(); }

}  // namespace heed
