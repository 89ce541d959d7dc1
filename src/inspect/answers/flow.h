// A flow as a graph, and its test.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/answers/heads.h"
#include "inspect/evidence/flow.h"
#include "inspect/evidence/flow_effects.h"

namespace heed {

/// A line before the answer, with the progress of the work.
struct FlowProgressAnswer {
  FlowWork work = FlowWork::kLayers;
  std::int64_t done = 0, of = 0;
  void describe(auto& field) const {
    constexpr const char* kNames[] = {"layers", "edges", "hidden", "removed"};
    field("working", std::string(kNames[static_cast<std::size_t>(work)]));
    HEED_FIELDS(field, done, of);
  }
};

void describe(auto& field, const FlowColumn& column) {
  HEED_FIELDS(field, column.begin, column.end, column.share);
}

void describe(auto& field, const FlowEdge& edge) {
  HEED_FIELDS(field, edge.from, edge.to, edge.share);
}

struct FlowRestAnswer {
  std::int64_t count = 0;
  double share = 0;
  void describe(auto& field) const { HEED_FIELDS(field, count, share); }
};

void describe(auto& field, const FlowLayer& layer) {
  HEED_FIELDS(field, layer.stack, layer.layer, layer.edges);
  field("rest", FlowRestAnswer{layer.rest_count, layer.rest_share});
  field("shares", layer.shares);
}

void describe(auto& field, const FlowPath& path) { HEED_FIELDS(field, path.nodes, path.share); }

struct FlowAnswer {
  std::string by = {};
  Flow flow = {};
  std::optional<std::int64_t> tried = {};  // by effect: edges removed one after the other
  void describe(auto& field) const {
    HEED_FIELDS(field, flow.request.stack, flow.request.position, by, tried, flow.tokens,
                flow.source, flow.shares, flow.columns, flow.layers, flow.paths, flow.others,
                flow.way, flow.way_share, flow.sum_error);
  }
};

struct HiddenTokenAnswer {
  HiddenToken hidden = {};
  bool has_word = false;
  void describe(auto& field) const {
    HEED_FIELDS(field, hidden.node, hidden.share, hidden.effect);
    field("probability", has_word ? std::optional<double>(hidden.probability) : std::nullopt);
  }
};

struct FlowTestAnswer {
  Stack stack = Stack::kSelf;
  std::int64_t position = 0;
  std::optional<WordAnswer> word = {};  // the word whose log-probability is measured
  std::vector<HiddenTokenAnswer> hidden = {};
  std::int64_t not_hidden = 0;
  Nullable<double> rank_correlation = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, stack, position, word, hidden, not_hidden, rank_correlation);
  }
};

enum class GraphFormat : std::uint8_t { kJson, kGraphMl, kDot };

/// Nodes are columns at a level ("5:199": token 199 after the fifth layer; "0:199": the token
/// itself). Edges go upward, with the flow's share as `weight`; `by` names its meaning. JSON is
/// networkx's node-link form.
std::string flow_graph(const Flow& flow, const Session& session, std::string_view by,
                       GraphFormat format);

}  // namespace heed
