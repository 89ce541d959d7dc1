// The largest entries of a row or column, and the rest: for the page's arcs, the terminal's columns
// and files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

}  // namespace heed
