// Chosen rows of one block against a range of keys, as they are: what rows, region and weights
// gather.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "heed/base/error.h"
#include "heed/ops/observe.h"
#include "heed/ops/observers/region.h"

namespace heed {

inline float absent(ObservedValue value) {
  return value == ObservedValue::kWeights ? 0 : -std::numeric_limits<float>::infinity();
}

/// Throws unless there is such an index: "row is 9, expected 0 to 5 (6 queries)".
inline void check_index(std::string_view observer, std::string_view name, std::int64_t index,
                        std::int64_t count, const std::string& things) {
  if (index < 0 || index >= count)
    fail(observer, name, index, fmt::format("0 to {} ({})", count - 1, things));
}

/// The same rows or keys of every head, the heads outermost.
template <typename Chosen>
std::vector<Chosen> of_every_head(const std::vector<std::int64_t>& indices, std::int64_t heads) {
  std::vector<Chosen> chosen;
  for (std::int64_t head = 0; head < heads; ++head)
    for (const std::int64_t index : indices) chosen.push_back({head, index});
  return chosen;
}

/// The rows of a block that lie in a region, by their distance from its first.
inline std::vector<std::int64_t> rows_inside(const Region& region, const ObservedRows& rows) {
  std::vector<std::int64_t> inside;
  const std::int64_t end = std::min(rows.row_end, region.row_end);
  for (std::int64_t row = std::max(rows.row_begin, region.row_begin); row < end; ++row)
    inside.push_back(row - rows.row_begin);
  return inside;
}

struct RowValues : Observer::State {
  /// `chosen` are rows of the block, by their distance from its first.
  RowValues(std::vector<std::int64_t> chosen_rows, std::int64_t first_key, std::int64_t last_key,
            ObservedValue what)
      : chosen(std::move(chosen_rows)),
        key_begin(first_key),
        key_end(last_key),
        value(what),
        values(chosen.size() * static_cast<std::size_t>(key_end - key_begin), absent(what)) {}

  std::vector<std::int64_t> chosen;
  std::int64_t key_begin;
  std::int64_t key_end;
  ObservedValue value;
  std::vector<float> values;  // [chosen, key_end - key_begin]

  void take(const ObservedTile& tile) {
    const float* source = values_of(tile, value);
    const std::int64_t begin = std::max(key_begin, tile.key_begin);
    const std::int64_t end = std::min(key_end, tile.key_end);
    float* line = values.data() - key_begin;
    for (const std::int64_t row : chosen) {
      for (std::int64_t key = begin; key < end; ++key)
        line[key] = source[(key - tile.key_begin) * kMaskRows + row];
      line += key_end - key_begin;
    }
  }
};

}  // namespace heed
