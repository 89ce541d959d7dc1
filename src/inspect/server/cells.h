// A rectangle of the attention matrix in cells of B x B entries, exact at the edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/inspect/session.h"
#include "heed/ops/observers/heatmap.h"
#include "heed/ops/observers/region.h"
#include "inspect/server/cancel.h"

namespace heed::server {

/// Rows [row_begin, row_end) and keys [key_begin, key_end) of one head; cells begin at multiples of
/// 2^shift, and so must row_begin and key_begin.
struct CellsRequest {
  std::int64_t head = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t key_begin = 0;
  std::int64_t key_end = 0;
  int shift = 0;
  Pool pool = Pool::kMax;  // kMax or kMean
  ObservedValue value = ObservedValue::kWeights;

  std::int64_t height() const { return cells_of(row_end - row_begin); }
  std::int64_t width() const { return cells_of(key_end - key_begin); }

 private:
  std::int64_t cells_of(std::int64_t entries) const {
    return (entries + (std::int64_t{1} << shift) - 1) >> shift;
  }
};

struct Cells {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<float> values;  // [height, width]; NaN where the mask hides all entries of the cell

  float at(std::int64_t y, std::int64_t x) const {
    return values[static_cast<std::size_t>(y * width + x)];
  }
  std::span<const float> row(std::int64_t y) const {
    return std::span(values).subspan(static_cast<std::size_t>(y * width),
                                     static_cast<std::size_t>(width));
  }
};

/// The mean counts a masked weight as 0, and scores where they are visible. One sweep over the
/// rectangle on this thread; work and memory are those of the rectangle.
Cells matrix_cells(const LayerAttention& layer, const CellsRequest& request, Cancel& cancel);

}  // namespace heed::server
