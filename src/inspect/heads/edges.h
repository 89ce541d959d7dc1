// The edges that can represent a head: the largest weight of each row.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "heed/session.h"

namespace heed {

struct Edge {
  std::int64_t query = 0, key = 0;
  double weight = 0;
  double value = 0;  // the weight times the worth of such an edge
};

/// Whether the key is the query's own token or next to it.
bool is_beside(std::int64_t query, std::int64_t key);

using Worth = std::function<double(std::int64_t query, std::int64_t key)>;

/// Each row's edge with the largest weight (ties to the lower key), without those worth 0.
std::vector<Edge> edges_of(const LayerAttention& layer, int head,
                           const std::vector<std::int64_t>& rows, const Worth& worth);

/// Like edges_of, but a weight counts by its excess over the other rows' mean on the same key (rows
/// not adjacent to it), and at least a tenth: a key that every row attends to says nothing about
/// one row.
std::vector<Edge> own_edges_of(const LayerAttention& layer, int head,
                               const std::vector<std::int64_t>& rows, const Worth& worth);

/// Each row's edge of the largest value among all keys, so that an edge to the sink hides no word.
std::vector<Edge> best_edges_of(const LayerAttention& layer, int head,
                                const std::vector<std::int64_t>& rows, const Worth& worth);

/// The edge of the largest value, ties to the first.
std::optional<Edge> strongest(const std::vector<Edge>& edges);

}  // namespace heed
