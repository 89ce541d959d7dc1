#include "inspect/rows/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/sequences.h"
#include "heed/observe.h"
#include "inspect/session/visible_keys.h"

namespace heed {
namespace {

constexpr std::size_t kRowsOfASweep = 512;  // 8 MB of weights for a text of 4,096 tokens

// Sets the weights of the row's masked keys to `hidden`.
void hide(const LayerAttention& layer, int head, std::int64_t row, float hidden,
          std::span<float> weights) {
  std::vector<std::uint64_t> by_key(weights.size());
  visible_bits(layer, head, {row, row + 1, 0, std::ssize(weights)}, by_key.data());
  for (std::size_t key = 0; key < weights.size(); ++key)
    if (by_key[key] == 0) weights[key] = hidden;
}

void visit_some(const LayerAttention& layer, const LinesRequest& request,
                std::span<const std::int64_t> rows,
                const std::function<void(const RowView&)>& use) {
  const Selection chosen = {.heads = {{request.head}},
                            .rows = std::vector<std::int64_t>(rows.begin(), rows.end())};
  SelectionObserver weights(chosen);
  std::optional<SelectionObserver> scores;
  std::vector<Observer*> observers = {&weights};
  if (request.scores) observers.push_back(&scores.emplace(chosen, ObservedValue::kScores));
  observe(layer.args(), layer.attended(), observers);
  const auto keys = static_cast<std::size_t>(layer.keys());
  const std::span<float> all(weights.values.data<float>(), rows.size() * keys);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::span<float> row = all.subspan(at * keys, keys);
    if (request.hidden != 0) hide(layer, request.head, rows[at], request.hidden, row);
    const float* of_scores = scores ? scores->values.data<float>() + at * keys : nullptr;
    use({request.head, rows[at], row, {of_scores, scores ? keys : 0}});
  }
}

class Units {
 public:
  Units(std::span<const std::int64_t> firsts, std::int64_t length)
      : firsts_(firsts), length_(length) {}

  std::size_t of(std::int64_t token) const { return unit_of_token(firsts_, token); }
  std::size_t count() const { return firsts_.size(); }
  std::int64_t first(std::size_t unit) const { return firsts_[unit]; }
  std::int64_t end(std::size_t unit) const { return unit_end(firsts_, unit, length_); }

  // All tokens of the units that contain some of these.
  std::vector<std::int64_t> whole(std::span<const std::int64_t> tokens) const {
    std::vector<std::int64_t> all;
    for (const std::int64_t token : tokens) {
      const std::size_t unit = of(token);
      if (!all.empty() && all.back() >= first(unit)) continue;
      for (std::int64_t each = first(unit); each < end(unit); ++each) all.push_back(each);
    }
    return all;
  }

  // Adds one of `rows` rows to their mean.
  void add(std::span<const float> weights, float rows, std::vector<float>& sums) const {
    std::size_t unit = 0;
    for (std::size_t key = 0; key < weights.size(); ++key) {
      if (static_cast<std::int64_t>(key) >= end(unit)) ++unit;
      if (weights[key] != kHiddenWeight)
        sums[unit] = std::max(sums[unit], 0.0F) + weights[key] / rows;
    }
  }

 private:
  std::span<const std::int64_t> firsts_;
  std::int64_t length_;
};

}  // namespace

std::string edge_weight(double weight) {
  return weight > 0 && weight < 0.0005 ? "<0.001" : fmt::format("{:.3f}", weight);
}

void visit_lines(const LayerAttention& layer, LinesRequest request,
                 const std::function<void(const RowView&)>& use) {
  if (request.rows.empty()) request.rows = ascending(layer.queries());
  sort_once(request.rows);
  const std::span<const std::int64_t> rows = request.rows;
  for (std::size_t begin = 0; begin < rows.size(); begin += kRowsOfASweep)
    visit_some(layer, request, rows.subspan(begin, std::min(kRowsOfASweep, rows.size() - begin)),
               use);
}

std::vector<float> hidden_for_masked(std::vector<float> weights) {
  for (float& weight : weights)
    if (std::isnan(weight)) weight = kHiddenWeight;
  return weights;
}

std::size_t unit_of_token(std::span<const std::int64_t> units, std::int64_t token) {
  return static_cast<std::size_t>(std::ranges::upper_bound(units, token) - units.begin() - 1);
}

std::vector<LookRow> look_unit_rows(const LayerAttention& layer, int head,
                                    std::span<const std::int64_t> units,
                                    std::span<const std::int64_t> queries, std::int64_t top) {
  const Units all(units, layer.keys());
  std::vector<LookRow> answer;
  std::vector<float> sums;
  visit_lines(layer, {.head = head, .rows = all.whole(queries)}, [&](const RowView& row) {
    const std::size_t unit = all.of(row.query);
    if (row.query == all.first(unit)) sums.assign(all.count(), kHiddenWeight);
    all.add(row.weights, static_cast<float>(all.end(unit) - all.first(unit)), sums);
    if (row.query + 1 < all.end(unit)) return;
    answer.push_back(look_row({.query = all.first(unit), .weights = sums, .scores = {}}, top));
    for (LookKey& key : answer.back().attends)
      key.key = all.first(static_cast<std::size_t>(key.key));
  });
  return answer;
}

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
