// The flow into one token through the layers, as a directed graph: an approximation that ignores
// values, MLPs and signs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "inspect/evidence/flow_moves.h"

namespace heed {

struct FlowRequest {
  Stack stack = Stack::kSelf;
  std::int64_t position = 0;             // a query token of the stack
  std::optional<std::int64_t> key = {};  // the node whose path is wanted
  std::int64_t named = 30;               // number of columns for single tokens
  double top_p = 0.9;                    // share of a layer that its edges cover
  std::int64_t paths = 8;
};

/// Tokens [begin, end) in one column: a named token, or a run of others.
struct FlowColumn {
  std::int64_t begin = 0, end = 0;  // nodes
  double share = 0;                 // of the position's flow, at the tokens
};

struct FlowEdge {
  std::int64_t from = 0, to = 0;  // columns; `from` is the upper one, into which the flow arrives
  double share = 0;
};

/// The edges of one layer between columns, and the shares of the columns.
struct FlowLayer {
  Stack stack = Stack::kSelf;
  int layer = 0;
  std::vector<FlowEdge> edges;  // largest first, until they reach top_p
  std::int64_t rest_count = 0;
  double rest_share = 0;
  std::vector<double> shares;  // of the columns, after the layer
};

/// A way through the tokens; hops may be made in any layers.
struct FlowPath {
  std::vector<std::int64_t> nodes;  // the position first
  double share = 0;
};

struct Flow {
  FlowRequest request;
  std::int64_t tokens = 0, source = 0;  // nodes
  std::vector<double> shares;           // of each node, at the tokens
  std::vector<FlowColumn> columns;
  std::vector<FlowLayer> layers;  // last layer first
  std::vector<FlowPath> paths;    // largest first
  double others = 0;              // the share of all other paths
  std::vector<std::int64_t> way;  // the largest single way to `key`: one node per level, from above
  double way_share = 0;
  double sum_error = 0;  // largest deviation of a level's shares from sum 1
};

/// The kinds of work on a flow, each counted: layers passed by shares, layers whose edges are
/// summed, hidden tokens, removed edges.
enum class FlowWork : std::uint8_t { kLayers, kEdges, kHidden, kRemoved };

/// Called after each part of the work, with the number of finished parts.
using OnFlowWork = std::function<void(FlowWork work, std::int64_t done, std::int64_t of)>;

/// Follows these moves.
Flow flow(FlowMoves& moves, const FlowRequest& request, const OnFlowWork& told = {});
/// Only the shares, without columns, edges and paths.
Flow flow_shares(FlowMoves& moves, const FlowRequest& request, const OnFlowWork& told = {});

/// The shares of the nodes at each level; and for each node, the node above from which its largest
/// single way came.
struct FlowLevels {
  std::vector<std::vector<double>> shares;           // [steps + 1][nodes]
  std::vector<std::vector<std::int64_t>> came_over;  // [steps][nodes]
  std::vector<double> best = {};                     // [nodes], that way's share at the tokens
};
FlowLevels flow_levels(FlowMoves& moves, std::int64_t position, const OnFlowWork& told = {});

/// The `most` ways with the largest shares; counts hops, whatever layers they are made in.
std::vector<FlowPath> flow_paths(FlowMoves& moves, const FlowLevels& levels, std::int64_t position,
                                 std::int64_t most);

}  // namespace heed
