// Where the content of a token's stream came from, layer by layer: the moves of a flow.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

}  // namespace heed
