#include <algorithm>
#include <array>
#include <cmath>

#include "attention/observe/tile_sums.h"
#include "base/numbers.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

// The cell that contains element `index` of `count`, for `cells` cells.
std::int64_t cell_of(std::int64_t index, std::int64_t count, std::int64_t cells) {
  return ((index + 1) * cells - 1) / count;
}

// Number of elements in cell `cell`.
std::int64_t cell_size(std::int64_t cell, std::int64_t count, std::int64_t cells) {
  return (cell + 1) * count / cells - cell * count / cells;
}

// The cells that a block of rows touches.
struct CellRows : Observer::State {
  std::int64_t begin = 0;
  std::vector<double> cells;             // [rows of cells, width]
  std::vector<std::int64_t> row_begins;  // first row of each row of cells, then the end of the last
};

double pooled(Pool pool, double cell, double value) {
  if (pool != Pool::kMax) return cell + value;
  return std::isnan(cell) || value <= cell ? cell : value;  // NaN stays NaN
}

// Pools a run of keys, then the lanes within each row of cells.
void pool_run(Pool pool, const float* weights, std::int64_t keys, const CellRows& seen,
              std::int64_t width, double* column) {
  std::array<double, kMaskRows> line = {};
  if (pool == Pool::kMax) {
    std::array<float, kMaskRows> largest = {};
    kernels::raise_to_keys(weights, keys, largest.data());
    std::ranges::copy(largest, line.begin());
  } else {
    kernels::add_keys(weights, keys, line.data());
  }
  for (std::size_t y = 0; y + 1 < seen.row_begins.size(); ++y, column += width) {
    double cell = *column;
    for (std::int64_t i = seen.row_begins[y]; i < seen.row_begins[y + 1]; ++i)
      cell = pooled(pool, cell, line[static_cast<std::size_t>(i)]);
    *column = cell;
  }
}

}  // namespace

HeatmapObserver::HeatmapObserver(std::int64_t height, std::int64_t width, Pool pool,
                                 const Region& region)
    : asked_height_(height), asked_width_(width), pool_(pool), asked_(region) {
  if (height < 1 || width < 1)
    fail("heatmap", height < 1 ? "height" : "width", height < 1 ? height : width, "at least 1");
  require_enumerator("heatmap", "pool", pool, Pool::kSum);
}

bool HeatmapObserver::needs(const ObservedRows& rows) const { return region_.meets(rows); }

bool HeatmapObserver::needs(const ObservedRows&, std::int64_t key_begin,
                            std::int64_t key_end) const {
  return region_.meets(key_begin, key_end);
}

void HeatmapObserver::begin(const ObservedShape& shape) {
  region_ = asked_.resolved(shape);
  height_ = std::min(asked_height_, region_.rows());
  width_ = std::min(asked_width_, region_.keys());
  cells = Tensor::zeros({region_.batches(), region_.heads(), height_, width_});
  pooled_.assign(static_cast<std::size_t>(height_ * width_), 0.0);
  head_ = 0;
}

std::unique_ptr<Observer::State> HeatmapObserver::rows(const ObservedRows& rows) const {
  const std::int64_t count = region_.rows();
  const std::int64_t first = std::max(rows.row_begin, region_.row_begin);
  const std::int64_t end = std::min(rows.row_end, region_.row_end);
  auto state = std::make_unique<CellRows>();
  state->begin = cell_of(first - region_.row_begin, count, height_);
  for (std::int64_t row = first; row < end;) {
    state->row_begins.push_back(row - rows.row_begin);
    const std::int64_t y = cell_of(row - region_.row_begin, count, height_);
    row = region_.row_begin + (y + 1) * count / height_;
  }
  state->cells.resize(state->row_begins.size() * static_cast<std::size_t>(width_));
  state->row_begins.push_back(end - rows.row_begin);
  return state;
}

void HeatmapObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  auto& seen = static_cast<CellRows&>(state);
  const std::int64_t count = region_.keys();
  const std::int64_t end = std::min(tile.key_end, region_.key_end);
  for (std::int64_t key = std::max(tile.key_begin, region_.key_begin); key < end;) {
    const std::int64_t x = cell_of(key - region_.key_begin, count, width_);
    const std::int64_t next = std::min(end, region_.key_begin + (x + 1) * count / width_);
    pool_run(pool_, tile.weights + (key - tile.key_begin) * kMaskRows, next - key, seen, width_,
             seen.cells.data() + x);
    key = next;
  }
}

// Blocks arrive in order, so only one head is pooled at a time.
void HeatmapObserver::merge(State& state, const ObservedRows& rows) {
  const auto& seen = static_cast<const CellRows&>(state);
  const std::int64_t head = region_.place(rows);
  if (head != head_) std::ranges::fill(pooled_, 0.0);
  head_ = head;
  double* to = pooled_.data() + seen.begin * width_;
  float* out = cells.data<float>() + (head * height_ + seen.begin) * width_;
  for (std::int64_t e = 0; e < std::ssize(seen.cells); ++e) {
    to[e] = pooled(pool_, to[e], seen.cells[static_cast<std::size_t>(e)]);
    const double size =
        static_cast<double>(cell_size(seen.begin + e / width_, region_.rows(), height_) *
                            cell_size(e % width_, region_.keys(), width_));
    out[e] = static_cast<float>(pool_ == Pool::kMean ? to[e] / size : to[e]);
  }
}

}  // namespace heed
