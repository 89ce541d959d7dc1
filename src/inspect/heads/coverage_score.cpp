// How much of the source a head reads over the whole target: the mean over the source's tokens,
// without special ones, of min(1, sum_i p[i, j]). These are the sums of the coverage penalty of
// beam search (Wu et al. 2016, section 7). An even spread also covers much: the largest weights
// show whether a head points.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "attention/observe/tile_sums.h"
#include "inspect/heads/scores.h"

namespace heed {
namespace {

class CoverageScore final : public ScoreObserver {
 public:
  explicit CoverageScore(std::vector<std::int32_t> source) : source_(std::move(source)) {}
  std::string_view name() const override { return "coverage_score"; }
  void begin(const ObservedShape& shape) override {
    keys_ = static_cast<std::size_t>(shape.key_length);
    received_.assign(static_cast<std::size_t>(shape.heads) * keys_, 0);
  }
  TileParts parts() const override { return {}; }
  bool needs(const ObservedRows& rows) const override {
    return kept_head_ < 0 || rows.head == kept_head_;
  }
  using Observer::needs;
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    auto block = std::make_unique<Block>();
    block->received.resize(keys_);
    return block;
  }
  void tile(State& state, const ObservedRows&, const ObservedTile& tile) const override {
    kernels::sum_rows(tile.weights, tile.key_end - tile.key_begin,
                      static_cast<Block&>(state).received.data() + tile.key_begin);
  }
  void merge(State& state, const ObservedRows& rows) override {
    double* total = received_.data() + static_cast<std::size_t>(rows.head) * keys_;
    for (const double sum : static_cast<const Block&>(state).received) *total++ += sum;
  }
  double score(std::int64_t head, int, ScoreForm) const override {
    double sum = 0;
    for (const std::int32_t key : source_) sum += covered(head, key);
    return sum / static_cast<double>(source_.size());
  }
  void keep_rows(std::int64_t head) override { kept_head_ = head; }
  bool is_of_keys() const override { return true; }
  std::vector<float> of_rows(int, ScoreForm) const override {
    std::vector<float> values(keys_, std::numeric_limits<float>::quiet_NaN());
    for (const std::int32_t key : source_)
      values[static_cast<std::size_t>(key)] = static_cast<float>(covered(kept_head_, key));
    return values;
  }

 private:
  struct Block final : State {
    std::vector<double> received;
  };

  double covered(std::int64_t head, std::int32_t key) const {
    const std::size_t at = static_cast<std::size_t>(head) * keys_ + static_cast<std::size_t>(key);
    return std::min(received_[at], 1.0);
  }

  std::vector<std::int32_t> source_;  // counted keys
  std::size_t keys_ = 0;
  std::int64_t kept_head_ = -1;
  std::vector<double> received_;  // [H, Tk]
};

}  // namespace

ScoreObserverPointer coverage_score(const ScoredLayer& layer) {
  if (layer.source.empty()) return nullptr;
  return std::make_unique<CoverageScore>(layer.source);
}

}  // namespace heed
