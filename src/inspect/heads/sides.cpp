#include <algorithm>
#include <numeric>
#include <span>

#include "inspect/heads/scored_layer.h"
#include "inspect/rows/lines.h"

namespace heed {
namespace {

double sum_of(std::span<const float> weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

double mean_of(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

PairShares pair_shares(const LayerAttention& layer, int head, std::int64_t split) {
  PairShares sums;
  visit_lines(layer, {.head = head, .hidden = 0}, [&](const RowView& row) {
    const bool of_a = row.query < split;
    const auto second = static_cast<std::size_t>(split);
    (of_a ? sums.a_to_a : sums.b_to_a) += sum_of(row.weights.first(second));
    (of_a ? sums.a_to_b : sums.b_to_b) += sum_of(row.weights.subspan(second));
    sums.to_first += static_cast<double>(row.weights[0]);
  });
  const std::int64_t of_b = layer.queries() - split;
  return {.a_to_a = mean_of(sums.a_to_a, split),
          .a_to_b = mean_of(sums.a_to_b, split),
          .b_to_a = mean_of(sums.b_to_a, of_b),
          .b_to_b = mean_of(sums.b_to_b, of_b),
          .to_first = mean_of(sums.to_first, layer.queries())};
}

SourceOrder source_order(const LayerAttention& layer, int head) {
  SourceOrder sums;
  visit_lines(layer, {.head = head, .hidden = 0}, [&](const RowView& row) {
    const auto query = static_cast<std::size_t>(row.query);
    if (query < row.weights.size()) sums.in_order += static_cast<double>(row.weights[query]);
    sums.peak += static_cast<double>(std::ranges::max(row.weights));
  });
  return {.in_order = mean_of(sums.in_order, std::min(layer.queries(), layer.keys())),
          .peak = mean_of(sums.peak, layer.queries())};
}

void score_sides(HeadScores& head, const LayerAttention& layer, std::optional<std::int64_t> split) {
  if (split) head.shares = pair_shares(layer, head.place.head, *split);
  if (head.place.stack == Stack::kCross) head.order = source_order(layer, head.place.head);
}

}  // namespace heed
