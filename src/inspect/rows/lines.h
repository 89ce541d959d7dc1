// Rows of a head's matrix as numbers, a few hundred at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "heed/look.h"
#include "heed/session.h"
#include "inspect/rows/largest.h"

namespace heed {

/// One row: weights by key, and scores (-inf where masked) if requested.
struct RowView {
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::span<const float> weights;
  std::span<const float> scores;
};

struct LinesRequest {
  int head = 0;
  std::vector<std::int64_t> rows = {};  // empty: every row
  bool scores = false;
  float hidden = kHiddenWeight;  // the weight of masked keys
};

/// Calls `use` for the rows in ascending order.
void visit_lines(const LayerAttention& layer, LinesRequest request,
                 const std::function<void(const RowView&)>& use);

/// Weights of cells, with NaN for masked ones, converted for `largest_of`.
std::vector<float> hidden_for_masked(std::vector<float> weights);

/// The end of a unit: where the next one begins, or the end of the text. `units` has the first
/// token of each.
inline std::int64_t unit_end(std::span<const std::int64_t> units, std::size_t unit,
                             std::int64_t length) {
  return unit + 1 < units.size() ? units[unit + 1] : length;
}

/// The weight of one edge: "0.172", "<0.001".
std::string edge_weight(double weight);

/// The unit that contains this token.
std::size_t unit_of_token(std::span<const std::int64_t> units, std::int64_t token);

LookRow look_row(const RowView& row, std::int64_t top);

/// Rows and keys are units, given by their first tokens: a row is the mean over its queries, and a
/// key unit has the sum over its keys. The units that contain `queries` (sorted), or all.
std::vector<LookRow> look_unit_rows(const LayerAttention& layer, int head,
                                    std::span<const std::int64_t> units,
                                    std::span<const std::int64_t> queries, std::int64_t top);

}  // namespace heed
