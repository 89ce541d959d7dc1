// Attention weighted by what it carries (Kobayashi et al. 2020): p[i, j] |W_O v_j|, or |v_j|
// without an output projection. A sink that carries nothing has a large weight but a small share of
// these.
//   0 value_weighted  sum_j p |W_O v_j|, the mean over all rows
//   1 value_sink      the first token's share of that sum, over rows i >= 1 that have one
#include "attention/observe/tile_sums.h"
#include "inspect/heads/row_scores.h"

namespace heed {
namespace {

struct ValueRows final : RowBlock {
  std::array<double, kMaskRows> sum = {}, of_sink = {};
};

class ValueScores final : public BlockScores<ValueRows> {
 public:
  explicit ValueScores(const ConstView& lengths) : BlockScores(2), lengths_(lengths) {}
  std::string_view name() const override { return "value_scores"; }
  TileParts parts() const override { return {.value_norms = !lengths_.given()}; }
  std::optional<bool> counts(int which, std::int64_t, std::int64_t key) const override {
    return which == 1 ? std::optional(key == 0) : std::nullopt;
  }

 private:
  void read(ValueRows& block, const ObservedRows& rows, const ObservedTile& tile) const override;
  void add_row(const ValueRows& block, const ObservedRows& rows, std::int64_t row, std::size_t lane,
               double sink) override;
  const float* lengths(const ObservedRows& rows, const ObservedTile& tile) const {
    if (!lengths_.given()) return tile.value_norms;
    return lengths_.data<float>() + rows.head * lengths_.stride(0) + tile.key_begin;
  }

  ConstView lengths_;  // [H, Tk]
};

void ValueScores::read(ValueRows& block, const ObservedRows& rows, const ObservedTile& tile) const {
  const std::int64_t keys = tile.key_end - tile.key_begin;
  alignas(64) std::array<float, kObservedKeys * kMaskRows> carried;
  kernels::scale_keys(tile.weights, tile.visible, lengths(rows, tile), keys, carried.data());
  kernels::add_keys(carried.data(), keys, block.sum.data());
  if (tile.key_begin == 0) kernels::add_keys(carried.data(), 1, block.of_sink.data());
}

void ValueScores::add_row(const ValueRows& block, const ObservedRows& rows, std::int64_t row,
                          std::size_t lane, double sink) {
  const double sum = block.sum[lane], of_sink = block.of_sink[lane];
  add(rows, 0, {sum, true, sum - of_sink, row > 0}, sink);
  const bool carries = row > 0 && sum > 0;
  const double share = carries ? of_sink / sum : 0;
  add(rows, 1, {share, carries, share, carries}, 0);  // the sink's own share is not adjusted
}

}  // namespace

ScoreObserverPointer value_scores(const ScoredLayer& layer) {
  return layer.has_values ? std::make_unique<ValueScores>(layer.write_lengths) : nullptr;
}

}  // namespace heed
