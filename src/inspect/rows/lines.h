// Rows of a head's matrix as numbers, a few hundred at a time, and the largest entries of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/look.h"
#include "heed/session.h"

namespace heed {

/// Marks a masked weight; NaN counts as a weight.
inline constexpr float kHiddenWeight = -1;

struct Entry {
  std::int64_t at = 0;
  float weight = 0;
};

/// Which entries are listed: the largest that make up `top_p` of the sum (default: all), at most
/// `at_most`.
struct LargestRule {
  std::optional<double> top_p = {};
  std::int64_t at_most = -1;  // negative: no limit
};

struct Largest {
  std::vector<Entry> entries;   // largest first, ties to the lower index; NaN before all
  std::int64_t rest_count = 0;  // number of visible entries that are not listed
  double rest_weight = 0;
  double sum = 0;
  double entropy = 0;  // nats
  float largest = 0;
  std::int64_t visible = 0;
};

/// `weights` has kHiddenWeight for masked entries.
Largest largest_of(std::span<const float> weights, const LargestRule& rule);

/// The rank of the visible entry `at`: 1 is the largest.
std::int64_t rank_of(std::span<const float> weights, std::int64_t at);

/// Sorted by index, for drawing arcs.
std::vector<Entry> in_order(std::vector<Entry> entries);

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
