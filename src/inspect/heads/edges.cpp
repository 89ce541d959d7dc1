#include "inspect/heads/edges.h"

#include <algorithm>

#include "inspect/rows/lines.h"

namespace heed {

std::vector<Edge> edges_of(const LayerAttention& layer, int head,
                           const std::vector<std::int64_t>& rows, const Worth& worth) {
  std::vector<Edge> edges;
  visit_lines(layer, {.head = head, .rows = rows}, [&](const RowView& row) {
    const auto largest = std::ranges::max_element(row.weights);
    Edge edge{row.query, largest - row.weights.begin(), static_cast<double>(*largest)};
    edge.value = edge.weight * worth(edge.query, edge.key);
    if (edge.value > 0) edges.push_back(edge);
  });
  return edges;
}

std::optional<Edge> strongest(const std::vector<Edge>& edges) {
  const auto best = std::ranges::max_element(edges, {}, &Edge::value);
  return best == edges.end() ? std::nullopt : std::optional(*best);
}

}  // namespace heed
