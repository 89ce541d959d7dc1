// A head's coarse zoom levels, from one sweep: tiles that cover millions of entries are computed
// from these.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inspect/map/cells.h"

namespace heed {

/// Rows of cells, each up to its last visible one: half of a causal matrix.
template <typename Value>
struct JaggedRows {
  std::vector<std::size_t> begin = {0};  // of each row, and the end of the last one
  std::vector<Value> values;

  std::span<const Value> row(std::size_t y) const {
    return std::span(values).subspan(begin[y], begin[y + 1] - begin[y]);
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(begin.size() * sizeof(std::size_t) +
                                     values.size() * sizeof(Value));
  }
};

/// Cells of 2^shift x 2^shift entries are coarse from here on: at most 1,024 per side. Tiles of
/// finer cells cover at most 1,024 x 1,024 entries, while the longer side has at most 8,192.
int coarse_shift(const MatrixSize& size);
/// Whether any zoom level is coarse.
bool has_coarse(const MatrixSize& size);

/// The whole matrix of a head in cells of 2^coarse_shift, in the request's form.
CellsRequest coarse_request(std::int64_t head, const MatrixSize& size, Pool pool);

/// Exact: every pool, as numbers. Computed from values gathered for means.
struct CoarseHead {
  int shift = 0;
  JaggedRows<float> largest;  // NaN where all entries are masked
  JaggedRows<float> sum;

  CoarseHead(const GatheredCells& gathered, const CellsRequest& request);
  std::int64_t bytes() const { return largest.bytes() + sum.bytes(); }
  /// The same answer as a sweep over the rectangle, for weights and for shifts at least as large.
  Cells cells(const CellsRequest& request) const;
};

/// Only the largest weights, as u8: an eighth of the memory, so small enough to keep for every
/// head.
struct Overview {
  int shift = 0;
  JaggedRows<std::uint8_t> largest;

  Overview(const GatheredCells& gathered, const CellsRequest& request);
  std::int64_t bytes() const { return largest.bytes(); }
  /// The bytes of a tile; the larger of two codes is the code of the larger weight.
  std::string codes(const CellsRequest& request) const;
};

/// Makes the overview of every head of a layer, head after head.
class OverviewObserver final : public Observer {
 public:
  using Done = std::function<void(std::int64_t head, Overview overview)>;
  OverviewObserver(const MatrixSize& size, Done done)
      : request_(coarse_request(0, size, Pool::kMax)), cells_(request_), done_(std::move(done)) {}

  std::string_view name() const override { return "overview"; }
  void begin(const ObservedShape& shape) override { cells_.begin(shape); }
  TileParts parts() const override { return cells_.parts(); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override { return cells_.rows(rows); }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    cells_.tile(state, rows, tile);
  }
  void merge(State& state, const ObservedRows& rows) override;

 private:
  CellsRequest request_;
  CellsObserver cells_;  // of the head being merged
  Done done_;
};

}  // namespace heed
