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
  static constexpr const char* kName = "FlowProgress";
  FlowWork work = FlowWork::kLayers;
  std::int64_t done = 0, of = 0;
  template <typename Fields>
  void describe(Fields& field) const {
    constexpr const char* kNames[] = {"layers", "edges", "hidden", "removed"};
    field("working", std::string(kNames[static_cast<std::size_t>(work)]));
    field("done", done);
    field("of", of);
  }
};

struct FlowColumnAnswer {
  static constexpr const char* kName = "FlowColumn";
  FlowColumn column = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("begin", column.begin);
    field("end", column.end);
    field("share", column.share);
  }
};

struct FlowEdgeAnswer {
  static constexpr const char* kName = "FlowEdge";
  FlowEdge edge = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("from", edge.from);
    field("to", edge.to);
    field("share", edge.share);
  }
};

struct FlowRestAnswer {
  static constexpr const char* kName = "FlowRest";
  std::int64_t count = 0;
  double share = 0;
  template <typename Fields>
  void describe(Fields& field) const {
    field("count", count);
    field("share", share);
  }
};

struct FlowLayerAnswer {
  static constexpr const char* kName = "FlowLayer";
  Stack stack = Stack::kSelf;
  int layer = 0;
  std::vector<FlowEdgeAnswer> edges = {};
  FlowRestAnswer rest = {};
  std::vector<double> shares = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("stack", std::string(stack_name(stack)));
    field("layer", layer);
    field("edges", edges);
    field("rest", rest);
    field("shares", shares);
  }
};

struct FlowPathAnswer {
  static constexpr const char* kName = "FlowPath";
  FlowPath path = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("nodes", path.nodes);
    field("share", path.share);
  }
};

struct FlowAnswer {
  static constexpr const char* kName = "Flow";
  std::string by = {};
  Flow flow = {};
  std::optional<std::int64_t> tried = {};  // by effect: edges removed one after the other
  template <typename Fields>
  void describe(Fields& field) const {
    const auto all = [](const auto& items, auto make) {
      std::vector<decltype(make(items.front()))> made;
      for (const auto& item : items) made.push_back(make(item));
      return made;
    };
    field("stack", std::string(stack_name(flow.request.stack)));
    field("position", flow.request.position);
    field("by", by);
    field("tried", tried);
    field("tokens", flow.tokens);
    field("source", flow.source);
    field("shares", flow.shares);
    field("columns",
          all(flow.columns, [](const FlowColumn& each) { return FlowColumnAnswer{each}; }));
    field("layers", all(flow.layers, [&](const FlowLayer& each) {
            return FlowLayerAnswer{
                each.stack,
                each.layer,
                all(each.edges, [](const FlowEdge& edge) { return FlowEdgeAnswer{edge}; }),
                {each.rest_count, each.rest_share},
                each.shares};
          }));
    field("paths", all(flow.paths, [](const FlowPath& each) { return FlowPathAnswer{each}; }));
    field("others", flow.others);
    field("way", flow.way);
    field("way_share", flow.way_share);
    field("sum_error", flow.sum_error);
  }
};

struct HiddenTokenAnswer {
  static constexpr const char* kName = "HiddenToken";
  HiddenToken hidden = {};
  bool has_word = false;
  template <typename Fields>
  void describe(Fields& field) const {
    field("node", hidden.node);
    field("share", hidden.share);
    field("effect", hidden.effect);
    field("probability", has_word ? std::optional<double>(hidden.probability) : std::nullopt);
  }
};

struct FlowTestAnswer {
  static constexpr const char* kName = "FlowTest";
  Stack stack = Stack::kSelf;
  std::int64_t position = 0;
  std::optional<WordAnswer> word = {};  // the word whose log-probability is measured
  std::vector<HiddenTokenAnswer> hidden = {};
  std::int64_t not_hidden = 0;
  Nullable<double> rank_correlation = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("stack", std::string(stack_name(stack)));
    field("position", position);
    field("word", word);
    field("hidden", hidden);
    field("not_hidden", not_hidden);
    field("rank_correlation", rank_correlation);
  }
};

enum class GraphFormat : std::uint8_t { kJson, kGraphMl, kDot };

/// Nodes are columns at a level ("5:199": token 199 after the fifth layer; "0:199": the token
/// itself). Edges go upward, with the flow's share as `weight`; `by` names its meaning. JSON is
/// networkx's node-link form.
std::string flow_graph(const Flow& flow, const Session& session, std::string_view by,
                       GraphFormat format);

}  // namespace heed
