// The largest entries of a row or column, and what is left over: for the page's arcs, the
// terminal's columns and files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heed {

/// Stands for the weight that the mask hides; a weight that is not a number is one.
inline constexpr float kHiddenWeight = -1;

struct Entry {
  std::int64_t at = 0;
  float weight = 0;
};

/// Which entries are listed: the largest that make up `top_p` of the sum (all, where it is
/// not given), at most `at_most`.
struct LargestRule {
  std::optional<double> top_p = {};
  std::int64_t at_most = -1;  // below 0: no limit
};

struct Largest {
  std::vector<Entry> entries;   // largest first, ties to the lower index; NaN before all
  std::int64_t rest_count = 0;  // visible entries that are not listed
  double rest_weight = 0;
  double sum = 0;
  double entropy = 0;  // nats
  float largest = 0;
  std::int64_t visible = 0;
};

/// `weights` has kHiddenWeight where the mask hides an entry.
Largest largest_of(std::span<const float> weights, const LargestRule& rule);

/// The place of the entry `at`, which is visible, among all: 1 is the largest.
std::int64_t rank_of(std::span<const float> weights, std::int64_t at);

/// By index, as arcs are drawn.
std::vector<Entry> in_order(std::vector<Entry> entries);

}  // namespace heed
