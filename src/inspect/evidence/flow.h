// The flow into one token through the layers, as a directed graph: an approximation that ignores
// values, MLPs and signs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "heed/session.h"

namespace heed {

/// A part of a step: rows of an attention, averaged over its heads. Row i has the moves of node
/// from + i; key j is node to + j.
struct FlowPart {
  const LayerAttention* layer = nullptr;
  std::int64_t from = 0, to = 0;
  double share = 0.5;  // share of a node's content that moves
};

/// One layer, from the stream after it to the stream before it.
struct FlowStep {
  Stack stack = Stack::kSelf;
  int layer = 0;
  std::vector<FlowPart> parts;
};

/// The layers of a flow into a stack's tokens, last layer first. Nodes are the stack's query
/// tokens, followed by the source's tokens for a cross-attention.
struct FlowSteps {
  std::int64_t tokens = 0;
  std::int64_t source = 0;
  std::vector<FlowStep> steps;
  std::int64_t nodes() const { return tokens + source; }
};

/// Rollout (Abnar and Zuidema 2020): in each residual branch half stays, and half moves by the mean
/// of the heads. A decoder that reads a source has two branches per layer, so a quarter stays, a
/// quarter moves by self-attention, half by cross-attention.
FlowSteps rollout_steps(const Session& session, Stack stack);

/// The moves of one node: the share that goes to each node; the remainder to 1 stays.
using MoveRow = std::span<const float>;

/// Rows of moves, computed on first use.
class FlowMoves {
 public:
  /// The session must outlive it. `check` is called between pieces of work and may throw.
  FlowMoves(FlowSteps steps, std::function<void()> check);

  const FlowSteps& steps() const { return steps_; }
  /// Calls `use` for each of these nodes, in order.
  void visit(std::size_t step, std::span<const std::int64_t> nodes,
             const std::function<void(std::int64_t node, MoveRow row)>& use);

  /// Replaces a node's moves: the weights, which need not sum to 1, distribute the moving share.
  void replace(std::size_t step, std::int64_t node, const std::map<std::int64_t, double>& weights);
  /// From now on, rows that were not replaced move nothing.
  void keep_replaced() { only_replaced_ = true; }

 private:
  using Row = std::vector<float>;
  void compute(std::size_t step, std::span<const std::int64_t> nodes);
  bool has_room() const;

  FlowSteps steps_;
  std::function<void()> check_;
  std::vector<std::map<std::int64_t, Row>> rows_;  // by step; bounded
  std::vector<std::map<std::int64_t, Row>> replaced_;
  bool only_replaced_ = false;
};

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
  std::vector<FlowColumn> columns = {};
  std::vector<FlowLayer> layers = {};  // last layer first
  std::vector<FlowPath> paths = {};    // largest first
  double others = 0;                   // the share of all other paths
  std::vector<std::int64_t> way =
      {};  // the largest single way to `key`: one node per level, from above
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
/// The nodes with a share above 0.
std::vector<std::int64_t> reached(const std::vector<double>& shares);
FlowLevels flow_levels(FlowMoves& moves, std::int64_t position, const OnFlowWork& told = {});

/// The `most` ways with the largest shares; counts hops, whatever layers they are made in.
std::vector<FlowPath> flow_paths(FlowMoves& moves, const FlowLevels& levels, std::int64_t position,
                                 std::int64_t most);

}  // namespace heed
