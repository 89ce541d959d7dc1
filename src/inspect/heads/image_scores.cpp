// How a head looks at images: two scores in one observer, means over the rows of tokens outside of
// images, or over every row where all tokens are cells of images.
//   0 image    the sum S of the weights p[i, j] on the cells j, over rows that see a cell
//   1 spread   e^H over the number of cells that the row sees, with H the entropy of p[i, j] / S,
//              over rows with S > 0: 1 where the cells share alike, near 0 where one has all
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "attention/observe/tile_sums.h"
#include "inspect/heads/row_scores.h"

namespace heed {
namespace {

// The cells that one row sees.
struct ImageCells {
  double weight = 0;
  double entropy = 0;  // -sum p ln p, of weights that sum to `weight`
  double count = 0;

  double spread() const {
    if (weight <= 0) return 0;
    return std::min(weight * std::exp(entropy / weight) / count, 1.0);  // more is rounding
  }
  // With a cell of weight p.
  ImageCells with(double p) const {
    return {weight + p, entropy - (p > 0 ? p * std::log(p) : 0), count + 1};
  }
};

struct ImageBlock final : RowBlock {
  using PerRow = std::array<double, kMaskRows>;
  PerRow weight = {}, entropy = {}, count = {};  // of cells past the first token
  std::uint64_t sees_first = 0;                  // one bit a row

  ImageCells past_first(std::size_t lane) const {
    return {weight[lane], entropy[lane], count[lane]};
  }
};

class ImageScores final : public BlockScores<ImageBlock> {
 public:
  ImageScores(std::vector<std::int32_t> cells, std::vector<bool> counted)
      : BlockScores(2), cells_(std::move(cells)), counted_(std::move(counted)) {}
  std::string_view name() const override { return "image_scores"; }
  TileParts parts() const override { return {.log_weights = true}; }
  std::optional<bool> counts(int which, std::int64_t, std::int64_t key) const override {
    return which == 0 ? std::optional(std::ranges::binary_search(cells_, key)) : std::nullopt;
  }

 private:
  void read(ImageBlock& block, const ObservedRows& rows, const ObservedTile& tile) const override;
  void add_row(const ImageBlock& block, const ObservedRows& rows, std::int64_t row,
               std::size_t lane, double sink) override;

  std::vector<std::int32_t> cells_;  // rising
  std::vector<bool> counted_;        // by row
};

void ImageScores::read(ImageBlock& block, const ObservedRows&, const ObservedTile& tile) const {
  if (tile.key_begin == 0) block.sees_first = tile.visible[0];
  auto cell = std::ranges::lower_bound(cells_, std::max<std::int64_t>(tile.key_begin, 1));
  for (; cell != cells_.end() && *cell < tile.key_end; ++cell) {
    const std::int64_t at = *cell - tile.key_begin;
    kernels::add_keys(tile.weights + at * kMaskRows, 1, block.weight.data());
    kernels::add_entropies(tile.weights + at * kMaskRows, tile.log_weights + at * kMaskRows, 1,
                           block.entropy.data());
    for (std::size_t lane = 0; lane < kMaskRows; ++lane)
      block.count[lane] += static_cast<double>(tile.visible[at] >> lane & 1);
  }
}

void ImageScores::add_row(const ImageBlock& block, const ObservedRows& rows, std::int64_t row,
                          std::size_t lane, double sink) {
  const ImageCells rest = block.past_first(lane);
  const bool has_first = cells_.front() == 0 && (block.sees_first >> lane & 1) != 0;
  const ImageCells all = has_first ? rest.with(sink) : rest;
  const bool counts = counted_[static_cast<std::size_t>(row)];
  const double left = std::max(1 - sink, 0.0);
  add(rows, 0, {all.weight, counts && all.count > 0, rest.weight, counts && rest.count > 0}, sink);
  add(rows, 1,
      {all.spread(), counts && all.weight > 0, rest.spread() * left, counts && rest.weight > 0},
      sink);
}

}  // namespace

ScoreObserverPointer image_scores(const ScoredLayer& layer) {
  if (layer.cells.empty()) return nullptr;
  return std::make_unique<ImageScores>(layer.cells, layer.counted_by_images);
}

}  // namespace heed
