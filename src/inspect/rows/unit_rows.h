// Rows of words, of sentences, of characters: what `look_rows` is of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heed/inspect/look.h"
#include "inspect/rows/lines.h"

namespace heed {

/// The end of a unit: where the next one begins, or the end of the text. `units` are the first
/// tokens of each.
inline std::int64_t unit_end(std::span<const std::int64_t> units, std::size_t unit,
                             std::int64_t length) {
  return unit + 1 < units.size() ? units[unit + 1] : length;
}

LookRow look_row(const RowView& row, std::int64_t top);

/// Rows and keys are units, told by their first tokens: a row is the mean of its queries, in which
/// a unit has the sum of its keys. The units that hold `queries` (sorted), or all.
std::vector<LookRow> look_unit_rows(const LayerAttention& layer, int head,
                                    std::span<const std::int64_t> units,
                                    std::span<const std::int64_t> queries, std::int64_t top);

}  // namespace heed
