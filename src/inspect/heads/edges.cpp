#include "inspect/heads/edges.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "inspect/rows/lines.h"

namespace heed {
namespace {

constexpr double kLeastPart = 0.1;  // of a weight on a key that all rows attend to

// The weights on one key, except from the row itself and its neighbours.
struct Received {
  double sum = 0;
  std::int64_t rows = 0;
};

// NaN counts as 0: a row of NaN links nothing.
Edge largest_of_row(const RowView& row) {
  const auto or_zero = [](float weight) { return std::isnan(weight) ? 0 : weight; };
  const auto largest = std::ranges::max_element(row.weights, {}, or_zero);
  return {row.query, std::distance(row.weights.begin(), largest),
          static_cast<double>(or_zero(*largest))};
}

void receive(const RowView& row, std::vector<Received>& keys) {
  keys.resize(row.weights.size());
  for (std::size_t key = 0; key < keys.size(); ++key) {
    const float weight = row.weights[key];
    if (weight == kHiddenWeight || std::isnan(weight)) continue;
    if (is_beside(row.query, static_cast<std::int64_t>(key))) continue;
    keys[key].sum += static_cast<double>(weight);
    ++keys[key].rows;
  }
}

// The part of the edge's weight that other rows do not give the key.
double own_weight(const Edge& edge, Received key) {
  if (!is_beside(edge.query, edge.key)) {
    key.sum -= edge.weight;
    --key.rows;
  }
  const double others = key.rows > 0 ? key.sum / static_cast<double>(key.rows) : 0;
  return std::max(edge.weight - others, kLeastPart * edge.weight);
}

}  // namespace

bool is_beside(std::int64_t query, std::int64_t key) { return std::abs(query - key) <= 1; }

std::vector<Edge> edges_of(const LayerAttention& layer, int head,
                           const std::vector<std::int64_t>& rows, const Worth& worth) {
  std::vector<Edge> edges;
  visit_lines(layer, {.head = head, .rows = rows}, [&](const RowView& row) {
    Edge edge = largest_of_row(row);
    edge.value = edge.weight * worth(edge.query, edge.key);
    if (edge.value > 0) edges.push_back(edge);
  });
  return edges;
}

std::vector<Edge> own_edges_of(const LayerAttention& layer, int head,
                               const std::vector<std::int64_t>& rows, const Worth& worth) {
  std::vector<Edge> edges;
  std::vector<Received> keys;
  visit_lines(layer, {.head = head, .rows = rows}, [&](const RowView& row) {
    receive(row, keys);
    edges.push_back(largest_of_row(row));
  });
  for (Edge& edge : edges)
    edge.value =
        own_weight(edge, keys[static_cast<std::size_t>(edge.key)]) * worth(edge.query, edge.key);
  std::erase_if(edges, [](const Edge& edge) { return edge.value <= 0; });
  return edges;
}

std::vector<Edge> best_edges_of(const LayerAttention& layer, int head,
                                const std::vector<std::int64_t>& rows, const Worth& worth) {
  std::vector<Edge> edges;
  visit_lines(layer, {.head = head, .rows = rows}, [&](const RowView& row) {
    Edge best;
    for (std::int64_t key = 0; key < std::ssize(row.weights); ++key) {
      const auto weight = static_cast<double>(row.weights[static_cast<std::size_t>(key)]);
      const double value = weight > 0 ? weight * worth(row.query, key) : 0;
      if (value > best.value) best = {row.query, key, weight, value};
    }
    if (best.value > 0) edges.push_back(best);
  });
  return edges;
}

std::optional<Edge> strongest(const std::vector<Edge>& edges) {
  const auto best = std::ranges::max_element(edges, {}, &Edge::value);
  return best == edges.end() ? std::nullopt : std::optional(*best);
}

}  // namespace heed
