// The edges that can represent a head, the largest weight of each row, and the sentence about one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/session.h"
#include "inspect/choice.h"

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

/// Sentences about heads of one stack, chosen among those allowed by a given layer or head.
struct ChoiceWords {
  const Session& session;
  Stack stack = Stack::kSelf;
  std::optional<int> layer = {}, head = {};
  ShownUnits shown = {};

  /// The edge with the weight that its row of units shows.
  Edge in_units(const Place& place, Edge edge) const;
  std::string of_induction(const Edge& edge) const;
  /// The edge goes from one text to the other.
  std::string of_link(const Edge& edge) const;
  /// The head was chosen by this row, which may be a gap to fill.
  std::string of_row(const Edge& edge, bool is_gap) const;
  /// No head has an edge between words. `score` is 0 if the head is merely the first one.
  std::string of_content(const std::optional<Edge>& edge, double score) const;

 private:
  std::string named(std::span<const SessionToken> tokens, std::int64_t index) const;
  std::string distance(const Edge& edge) const;
  std::string query(std::int64_t index) const;
  std::string key(std::int64_t index) const;
  std::string seen(const Edge& edge) const;  // "looks back 7 tokens to `king` (.77)"
  std::string than_any_other() const;
};

}  // namespace heed
