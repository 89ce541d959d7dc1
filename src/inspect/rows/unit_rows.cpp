#include <algorithm>

#include "inspect/rows/lines.h"

namespace heed {
namespace {

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

}  // namespace heed
