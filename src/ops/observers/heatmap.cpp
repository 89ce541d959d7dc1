#include "heed/ops/observers/heatmap.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "heed/base/error.h"

namespace heed {
namespace {

// The cell that holds element `index` of `count` in `cells`.
std::int64_t cell_of(std::int64_t index, std::int64_t count, std::int64_t cells) {
  return ((index + 1) * cells - 1) / count;
}

// Elements of cell `cell`.
std::int64_t cell_size(std::int64_t cell, std::int64_t count, std::int64_t cells) {
  return (cell + 1) * count / cells - cell * count / cells;
}

// The cells that a block of rows touches.
struct CellRows : Observer::State {
  std::int64_t begin = 0;
  std::vector<double> cells;  // [rows of cells, width]
};

double pooled(Pool pool, double cell, double value) {
  if (pool != Pool::kMax) return cell + value;
  return std::isnan(cell) || value <= cell ? cell : value;  // NaN, once seen, stays
}

}  // namespace

HeatmapObserver::HeatmapObserver(std::int64_t height, std::int64_t width, Pool pool,
                                 const Region& region)
    : asked_height_(height), asked_width_(width), pool_(pool), asked_(region) {
  require(height >= 1 && width >= 1, "heatmap: {} x {} cells: at least 1 x 1 is expected", height,
          width);
}

bool HeatmapObserver::needs(const ObservedRows& rows) const { return region_.meets(rows); }

bool HeatmapObserver::needs(const ObservedRows&, std::int64_t key_begin,
                            std::int64_t key_end) const {
  return region_.meets(key_begin, key_end);
}

void HeatmapObserver::begin(const ObservedShape& shape) {
  region_ = asked_.resolved(shape);
  height_ = std::min(asked_height_, region_.row_end - region_.row_begin);
  width_ = std::min(asked_width_, region_.key_end - region_.key_begin);
  cells = Tensor::zeros({shape.batch, region_.head_end - region_.head_begin, height_, width_});
  pooled_.assign(static_cast<std::size_t>(cells.element_count()), 0.0);
}

std::unique_ptr<Observer::State> HeatmapObserver::rows(const ObservedRows& rows) const {
  const std::int64_t count = region_.row_end - region_.row_begin;
  const auto cell_row = [&](std::int64_t row) {
    return cell_of(row - region_.row_begin, count, height_);
  };
  auto state = std::make_unique<CellRows>();
  state->begin = cell_row(std::max(rows.row_begin, region_.row_begin));
  const std::int64_t end = cell_row(std::min(rows.row_end, region_.row_end) - 1) + 1;
  state->cells.resize(static_cast<std::size_t>((end - state->begin) * width_));
  return state;
}

void HeatmapObserver::tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const {
  auto& seen = static_cast<CellRows&>(state);
  const std::int64_t row_count = region_.row_end - region_.row_begin;
  const std::int64_t key_count = region_.key_end - region_.key_begin;
  const std::int64_t key_begin = std::max(tile.key_begin, region_.key_begin);
  const std::int64_t key_end = std::min(tile.key_end, region_.key_end);
  std::array<std::int64_t, kMaskRows> column;  // of each key of the tile: one division a key
  for (std::int64_t key = key_begin; key < key_end; ++key)
    column[static_cast<std::size_t>(key - key_begin)] =
        cell_of(key - region_.key_begin, key_count, width_);
  const std::int64_t row_end = std::min(rows.row_end, region_.row_end);
  for (std::int64_t row = std::max(rows.row_begin, region_.row_begin); row < row_end; ++row) {
    const std::int64_t y = cell_of(row - region_.row_begin, row_count, height_) - seen.begin;
    double* line = seen.cells.data() + y * width_;
    const float* weight =
        tile.weights + (key_begin - tile.key_begin) * kMaskRows + (row - rows.row_begin);
    for (std::int64_t j = 0; j < key_end - key_begin; ++j) {
      double& cell = line[column[static_cast<std::size_t>(j)]];
      cell = pooled(pool_, cell, static_cast<double>(weight[j * kMaskRows]));
    }
  }
}

void HeatmapObserver::merge(State& state, const ObservedRows& rows) {
  const auto& seen = static_cast<const CellRows&>(state);
  const std::int64_t head = rows.batch * cells.dim(1) + rows.head - region_.head_begin;
  double* to = pooled_.data() + (head * height_ + seen.begin) * width_;
  for (const double cell : seen.cells) {
    *to = pooled(pool_, *to, cell);
    ++to;
  }
}

void HeatmapObserver::finish() {
  const std::int64_t row_count = region_.row_end - region_.row_begin;
  const std::int64_t key_count = region_.key_end - region_.key_begin;
  for (std::int64_t e = 0; e < cells.element_count(); ++e) {
    double cell = pooled_[static_cast<std::size_t>(e)];
    if (pool_ == Pool::kMean)
      cell /= static_cast<double>(cell_size(e / width_ % height_, row_count, height_) *
                                  cell_size(e % width_, key_count, width_));
    cells.data<float>()[e] = static_cast<float>(cell);
  }
}

}  // namespace heed
