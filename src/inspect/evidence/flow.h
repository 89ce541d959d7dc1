// What flowed into one token through the layers, as a directed graph: an approximation that leaves
// values, MLPs and signs out.
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
  std::int64_t position = 0;             // a token of the stack's queries
  std::optional<std::int64_t> key = {};  // the node whose path is wanted
  std::int64_t named = 30;               // columns of single tokens
  double top_p = 0.9;                    // edges of a layer
  std::int64_t paths = 8;
};

/// Tokens [begin, end) that stand as one: a named token, or a run of others.
struct FlowColumn {
  std::int64_t begin = 0, end = 0;  // nodes
  double share = 0;                 // of the position's, at the tokens
};

struct FlowEdge {
  std::int64_t from = 0, to = 0;  // columns; `from` is the higher one, where the flow arrives
  double share = 0;
};

/// The edges of one layer between columns, and what the others hold.
struct FlowLayer {
  Stack stack = Stack::kSelf;
  int layer = 0;
  std::vector<FlowEdge> edges;  // the largest first, until they reach top_p
  std::int64_t rest_count = 0;
  double rest_share = 0;
  std::vector<double> shares;  // of the columns, behind the layer
};

/// A way through the tokens, whichever layers it takes its hops in.
struct FlowPath {
  std::vector<std::int64_t> nodes;  // the position first
  double share = 0;
};

struct Flow {
  FlowRequest request;
  std::int64_t tokens = 0, source = 0;  // nodes
  std::vector<double> shares;           // of each node, at the tokens
  std::vector<FlowColumn> columns;
  std::vector<FlowLayer> layers;  // the last layer first
  std::vector<FlowPath> paths;    // the largest first
  double others = 0;              // the share of all other paths
  std::vector<std::int64_t> way;  // the largest single way to `key`: a node a level, from above
  double way_share = 0;
  double sum_error = 0;  // how far any level's shares are from summing to 1
};

/// The work on a flow, by the parts that it counts: layers that shares have passed, layers whose
/// edges are summed, tokens that were hidden, edges that were removed.
enum class FlowWork : std::uint8_t { kLayers, kEdges, kHidden, kRemoved };

/// Called after each part of the work, with the parts that are done.
using OnFlowWork = std::function<void(FlowWork work, std::int64_t done, std::int64_t of)>;

/// Along these moves.
Flow flow(FlowMoves& moves, const FlowRequest& request, const OnFlowWork& told = {});
/// The shares alone: without columns, edges and paths.
Flow flow_shares(FlowMoves& moves, const FlowRequest& request, const OnFlowWork& told = {});

/// The shares of the nodes, level by level; and, of each node, over which node behind the layer the
/// largest share of one single way came.
struct FlowLevels {
  std::vector<std::vector<double>> shares;           // [steps + 1][nodes]
  std::vector<std::vector<std::int64_t>> came_over;  // [steps][nodes]
  std::vector<double> best = {};                     // [nodes], the share of that way at the tokens
};
FlowLevels flow_levels(FlowMoves& moves, std::int64_t position, const OnFlowWork& told = {});

/// The `most` ways with the largest shares; hops are counted, not the layers that they are made in.
std::vector<FlowPath> flow_paths(FlowMoves& moves, const FlowLevels& levels, std::int64_t position,
                                 std::int64_t most);

}  // namespace heed
