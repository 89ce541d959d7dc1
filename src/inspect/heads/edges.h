// The edges of a head that can be shown for it: of each row its largest weight.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

struct Edge {
  std::int64_t query = 0, key = 0;
  double weight = 0;
  double value = 0;  // the weight times what such an edge is worth
};

/// Whether the key is the query's own token or next to it.
bool is_beside(std::int64_t query, std::int64_t key);

using Worth = std::function<double(std::int64_t query, std::int64_t key)>;

/// Returns each row's edge with the largest weight (ties to the lower key), without those that are
/// worth 0.
std::vector<Edge> edges_of(const LayerAttention& layer, int head,
                           const std::vector<std::int64_t>& rows, const Worth& worth);

/// As edges_of, but a weight counts by what it exceeds the mean of the other rows on the same key
/// (rows not next to it), and at least a tenth: a key at which every row looks says nothing of one.
std::vector<Edge> own_edges_of(const LayerAttention& layer, int head,
                               const std::vector<std::int64_t>& rows, const Worth& worth);

/// Returns each row's edge of the largest value among all keys: one to the sink hides no word.
std::vector<Edge> best_edges_of(const LayerAttention& layer, int head,
                                const std::vector<std::int64_t>& rows, const Worth& worth);

/// The edge of the largest value, ties to the first.
std::optional<Edge> strongest(const std::vector<Edge>& edges);

}  // namespace heed
