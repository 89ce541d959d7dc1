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

// The first entries, as a heap with the last of them on top, so that a row of 100,000 is not copied
// to be sorted.
class First {
 public:
  First(std::size_t most, Largest& into) : most_(most), into_(into) {}

  void offer(const Entry& entry) {
    std::vector<Entry>& kept = into_.entries;
    if (kept.size() == most_) {
      if (most_ == 0 || !before(entry, kept.front())) return leave_out(entry);
      std::ranges::pop_heap(kept, before);
      leave_out(kept.back());
      kept.pop_back();
    }
    kept.push_back(entry);
    std::ranges::push_heap(kept, before);
  }

 private:
  void leave_out(const Entry& entry) { into_.rest_weight += static_cast<double>(entry.weight); }

  std::size_t most_;
  Largest& into_;
};

// Considers all visible entries, and lists the first `most`.
Largest listed(std::span<const float> weights, std::size_t most) {
  Largest all;
  First first(most, all);
  for (std::size_t at = 0; at < weights.size(); ++at) {
    const float weight = weights[at];
    if (weight == kHiddenWeight) continue;
    first.offer({static_cast<std::int64_t>(at), weight});
    all.sum += static_cast<double>(weight);
    if (!(weight <= 0)) all.entropy -= weight * std::log(static_cast<double>(weight));
    all.largest = std::max(all.largest, weight);
    ++all.visible;
  }
  std::ranges::sort_heap(all.entries, before);
  return all;
}

}  // namespace

Largest largest_of(std::span<const float> weights, const LargestRule& rule) {
  Largest answer =
      listed(weights, rule.at_most < 0 ? weights.size() : static_cast<std::size_t>(rule.at_most));
  std::vector<Entry>& entries = answer.entries;
  auto kept = entries.end();
  if (rule.top_p) {
    kept = entries.begin();
    for (double mass = 0; kept < entries.end() && mass < *rule.top_p * answer.sum; ++kept)
      mass += static_cast<double>(kept->weight);
  }
  for (auto rest = kept; rest != entries.end(); ++rest)
    answer.rest_weight += static_cast<double>(rest->weight);
  entries.erase(kept, entries.end());
  answer.rest_count = answer.visible - std::ssize(entries);
  return answer;
}

std::int64_t rank_of(std::span<const float> weights, std::int64_t at) {
  const Entry own = {at, weights[static_cast<std::size_t>(at)]};
  std::int64_t rank = 1;
  for (std::size_t other = 0; other < weights.size(); ++other)
    if (weights[other] != kHiddenWeight &&
        before({static_cast<std::int64_t>(other), weights[other]}, own))
      ++rank;
  return rank;
}

std::vector<Entry> in_order(std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, &Entry::at);
  return entries;
}

}  // namespace heed
