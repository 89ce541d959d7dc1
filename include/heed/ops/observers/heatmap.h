// A picture of the attention matrix, or of a part of it, at any size.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heed/ops/observe.h"
#include "heed/ops/observers/region.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// How the weights of a cell become one number; masked weights count as 0, NaN gives NaN.
enum class Pool : std::uint8_t { kMax, kMean, kSum };

/// The region in height x width cells: cell (y, x) pools the rows [y * rows / height, (y + 1) *
/// rows / height) and the keys [x * keys / width, (x + 1) * keys / width), rounded down. No more
/// cells than there are rows or keys.
class HeatmapObserver : public Observer {
 public:
  HeatmapObserver(std::int64_t height, std::int64_t width, Pool pool = Pool::kMax,
                  const Region& region = {});
  std::string_view name() const override { return "heatmap"; }
  bool needs(const ObservedRows& rows) const override;
  bool needs(const ObservedRows& rows, std::int64_t key_begin, std::int64_t key_end) const override;
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor cells;  // [batches, heads, min(height, rows), min(width, keys)] of the region, f32

 private:
  std::int64_t asked_height_;
  std::int64_t asked_width_;
  Pool pool_;
  Region asked_;
  Region region_ = {};  // what was asked for, of the problem that is observed
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t head_ = 0;       // of all batches: the one that is pooled
  std::vector<double> pooled_;  // [height, width]
};

}  // namespace heed
