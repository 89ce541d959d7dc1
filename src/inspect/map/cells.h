// A rectangle of the attention matrix in cells of B x B entries, exact at the edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/observe.h"
#include "heed/session.h"
#include "inspect/session/cancel.h"

namespace heed {

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
  std::int64_t entries() const { return (row_end - row_begin) * (key_end - key_begin); }
  bool sums() const { return pool == Pool::kMean; }

 private:
  std::int64_t cells_of(std::int64_t entries) const {
    return (entries + (std::int64_t{1} << shift) - 1) >> shift;
  }
};

struct Cells {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<float> values;  // [height, width]; NaN if every entry of the cell is masked

  float at(std::int64_t y, std::int64_t x) const {
    return values[static_cast<std::size_t>(y * width + x)];
  }
  std::span<const float> row(std::int64_t y) const {
    return std::span(values).subspan(static_cast<std::size_t>(y * width),
                                     static_cast<std::size_t>(width));
  }
};

/// Gathered values of a rectangle's cells, [height, width] each; without sums only the largest.
struct GatheredCells {
  std::vector<float> largest;         // -inf if no entry is visible; NaN stays NaN
  std::vector<double> sum;            // over the visible entries
  std::vector<std::int32_t> visible;  // number of visible entries

  void resize(std::int64_t count, bool sums);
  bool is_hidden(std::size_t at) const;
};

/// Gathers a rectangle during a sweep by the caller of `observe`: for cells of 2^shift entries per
/// side, the largest and, for means, the sum and the number of visible entries. The public observer
/// `heatmap` has one pool, does not distinguish masked cells from zeros, and takes 2.2 ms for two
/// pools where this takes 1.6 (cells of 2 x 2, T = 512; 6.1 and 5.0 of 8 x 8, T = 2,048; D = 64,
/// one core).
class CellsObserver final : public Observer {
 public:
  explicit CellsObserver(const CellsRequest& request);

  std::string_view name() const override { return "cells"; }
  void begin(const ObservedShape& shape) override { region_.resolved(shape); }
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override {
    return region_.rows_of(batch, head);
  }
  bool needs(const ObservedRows& rows) const override { return region_.meets(rows); }
  bool needs(const ObservedRows&, std::int64_t begin, std::int64_t end) const override {
    return region_.meets(begin, end);
  }
  TileParts parts() const override { return parts_of(request_.value); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  GatheredCells gathered;

 private:
  CellsRequest request_;
  Region region_;
};

/// The pooled values: a mean counts masked weights as 0, and only visible scores.
Cells pooled_cells(GatheredCells gathered, const CellsRequest& request);

/// One sweep over the rectangle, which calls `cancel` on this thread only; work and memory are
/// proportional to the rectangle.
Cells matrix_cells(const LayerAttention& layer, const CellsRequest& request, Cancel& cancel);

/// Only the sweep, on all cores; `check` is called on several threads, and throws to stop.
GatheredCells gathered_cells(const LayerAttention& layer, const CellsRequest& request,
                             const SweepStop::Check& check);

}  // namespace heed
