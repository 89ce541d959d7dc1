#include "inspect/rows/largest.h"

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

bool before(const Entry& a, const Entry& b) {
  const bool a_nan = std::isnan(a.weight);
  const bool b_nan = std::isnan(b.weight);
  if (a_nan != b_nan) return a_nan;
  if (!a_nan && a.weight != b.weight) return a.weight > b.weight;
  return a.at < b.at;
}

// Everything but the choice.
Largest visible_of(std::span<const float> weights) {
  Largest all;
  for (std::size_t at = 0; at < weights.size(); ++at) {
    const float weight = weights[at];
    if (weight == kHidden) continue;
    all.entries.push_back({static_cast<std::int64_t>(at), weight});
    all.sum += static_cast<double>(weight);
    if (weight > 0) all.entropy -= weight * std::log(static_cast<double>(weight));
    all.largest = std::max(all.largest, weight);
  }
  all.visible = std::ssize(all.entries);
  return all;
}

}  // namespace

Largest largest_of(std::span<const float> weights, const LargestRule& rule) {
  Largest answer = visible_of(weights);
  std::vector<Entry>& entries = answer.entries;
  const std::int64_t most =
      rule.at_most < 0 ? answer.visible : std::min(rule.at_most, answer.visible);
  std::ranges::partial_sort(entries, entries.begin() + most, before);
  auto kept = entries.begin() + most;
  if (rule.top_p) {
    kept = entries.begin();
    for (double mass = 0; kept < entries.begin() + most && mass < *rule.top_p * answer.sum; ++kept)
      mass += static_cast<double>(kept->weight);
  }
  for (auto rest = kept; rest != entries.end(); ++rest)
    answer.rest_weight += static_cast<double>(rest->weight);
  answer.rest_count = entries.end() - kept;
  entries.erase(kept, entries.end());
  return answer;
}

std::int64_t rank_of(std::span<const float> weights, std::int64_t at) {
  const Entry own = {at, weights[static_cast<std::size_t>(at)]};
  std::int64_t rank = 1;
  for (std::size_t other = 0; other < weights.size(); ++other)
    if (weights[other] != kHidden &&
        before({static_cast<std::int64_t>(other), weights[other]}, own))
      ++rank;
  return rank;
}

std::vector<Entry> in_order(std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, &Entry::at);
  return entries;
}

}  // namespace heed
