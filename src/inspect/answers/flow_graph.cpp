#include <fmt/format.h>

#include "base/wording.h"
#include "heed/tokenizer.h"
#include "inspect/answers/fields.h"
#include "inspect/answers/why.h"

namespace heed {
namespace {

struct Node {
  std::string id;
  std::string label;
  std::size_t level = 0;  // 0: the tokens
  std::int64_t begin = 0, end = 0;
  bool is_source = false;
  double share = 0;
};

struct Link {
  std::string source, target;  // upward
  std::string stack;
  int layer = 0;
  double share = 0;
};

struct FlowGraph {
  std::vector<Node> nodes;
  std::vector<Link> links;
};

std::string label_of(const Flow& flow, const Session& session, const FlowColumn& column) {
  if (column.end - column.begin > 1) return fmt::format("{} tokens", column.end - column.begin);
  const bool is_source = column.begin >= flow.tokens;
  const auto tokens =
      is_source ? session.keys(flow.request.stack) : session.queries(flow.request.stack);
  return displayable(
      tokens[static_cast<std::size_t>(column.begin - (is_source ? flow.tokens : 0))].bytes);
}

std::string id_of(std::size_t level, const FlowColumn& column) {
  return fmt::format("{}:{}", level, column.begin);
}

FlowGraph graph_of(const Flow& flow, const Session& session) {
  FlowGraph graph;
  const std::size_t levels = flow.layers.size();
  for (std::size_t level = 0; level <= levels; ++level)
    for (std::size_t at = 0; at < flow.columns.size(); ++at) {
      const FlowColumn& column = flow.columns[at];
      const double share = level == 0 ? column.share : flow.layers[levels - level].shares[at];
      if (share == 0) continue;
      const bool is_source = column.begin >= flow.tokens;
      const std::int64_t before = is_source ? flow.tokens : 0;
      graph.nodes.push_back({id_of(level, column), label_of(flow, session, column), level,
                             column.begin - before, column.end - before, is_source, share});
    }
  for (std::size_t step = 0; step < levels; ++step) {
    const FlowLayer& layer = flow.layers[step];
    const auto column = [&](std::int64_t at) { return flow.columns[static_cast<std::size_t>(at)]; };
    for (const FlowEdge& edge : layer.edges)
      graph.links.push_back({id_of(levels - step - 1, column(edge.to)),
                             id_of(levels - step, column(edge.from)),
                             std::string(stack_name(layer.stack)), layer.layer, edge.share});
  }
  return graph;
}

std::string about(const Flow& flow, const Session& session, std::string_view by) {
  return fmt::format("flow into token {} of {}'s {} attention, by {}: an approximation",
                     flow.request.position, session.model, stack_name(flow.request.stack), by);
}

std::string as_json(const FlowGraph& graph, const std::string& about) {
  std::string text = fmt::format(
      "{{\"directed\": true, \"multigraph\": false,\n\"graph\": {{\"about\": {}}},\n\"nodes\": [",
      json_string(about));
  const char* between = "\n";
  for (const Node& node : graph.nodes) {
    text += fmt::format(
        "{}{{\"id\": {}, \"label\": {}, \"level\": {}, \"begin\": {}, \"end\": {}, \"side\": "
        "\"{}\", \"share\": {}}}",
        between, json_string(node.id), json_string(node.label), node.level, node.begin, node.end,
        node.is_source ? "source" : "text", node.share);
    between = ",\n";
  }
  text += "],\n\"edges\": [";
  between = "\n";
  for (const Link& link : graph.links) {
    text += fmt::format(
        "{}{{\"source\": {}, \"target\": {}, \"stack\": \"{}\", \"layer\": {}, \"weight\": {}}}",
        between, json_string(link.source), json_string(link.target), link.stack, link.layer,
        link.share);
    between = ",\n";
  }
  return text + "]}\n";
}

std::string xml(std::string_view text) {
  std::string safe;
  for (const char c :
       replaced(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}}))
    safe += static_cast<unsigned char>(c) < 0x20
                ? fmt::format("&lt;0x{:02X}&gt;", static_cast<unsigned>(c))
                : std::string(1, c);
  return safe;
}

struct Key {
  const char *name, *of, *type;
};
constexpr Key kKeys[] = {
    {"label", "node", "string"}, {"level", "node", "int"},   {"begin", "node", "int"},
    {"end", "node", "int"},      {"side", "node", "string"}, {"share", "node", "double"},
    {"stack", "edge", "string"}, {"layer", "edge", "int"},   {"weight", "edge", "double"}};

std::string as_graphml(const FlowGraph& graph, const std::string& about) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const Key& key : kKeys)
    text += fmt::format("<key id=\"{0}\" for=\"{1}\" attr.name=\"{0}\" attr.type=\"{2}\"/>\n",
                        key.name, key.of, key.type);
  text += fmt::format("<graph edgedefault=\"directed\"><desc>{}</desc>\n", xml(about));
  const auto data = [](const char* key, const std::string& value) {
    return fmt::format("<data key=\"{}\">{}</data>", key, xml(value));
  };
  for (const Node& node : graph.nodes)
    text += fmt::format(
        "<node id=\"{}\">{}{}{}{}{}{}</node>\n", node.id, data("label", node.label),
        data("level", fmt::format("{}", node.level)), data("begin", fmt::format("{}", node.begin)),
        data("end", fmt::format("{}", node.end)), data("side", node.is_source ? "source" : "text"),
        data("share", fmt::format("{}", node.share)));
  for (const Link& link : graph.links)
    text +=
        fmt::format("<edge source=\"{}\" target=\"{}\">{}{}{}</edge>\n", link.source, link.target,
                    data("stack", link.stack), data("layer", fmt::format("{}", link.layer)),
                    data("weight", fmt::format("{}", link.share)));
  return text + "</graph>\n</graphml>\n";
}

std::string in_quotes(std::string_view text) {
  return '"' + replaced(text, {{'"', "\\\""}, {'\\', "\\\\"}}) + '"';
}

std::string as_dot(const FlowGraph& graph, const std::string& about) {
  std::string text = fmt::format("digraph flow {{\n  label={};\n  rankdir=BT;\n", in_quotes(about));
  for (const Node& node : graph.nodes)
    text += fmt::format("  {} [label={}, level={}, begin={}, end={}, side={}, share={}];\n",
                        in_quotes(node.id), in_quotes(node.label), node.level, node.begin, node.end,
                        node.is_source ? "source" : "text", node.share);
  for (const Link& link : graph.links)
    text += fmt::format("  {} -> {} [stack={}, layer={}, weight={}, penwidth={:.3f}];\n",
                        in_quotes(link.source), in_quotes(link.target), link.stack, link.layer,
                        link.share, 0.25 + 12 * link.share);
  return text + "}\n";
}

}  // namespace

std::string flow_graph(const Flow& flow, const Session& session, std::string_view by,
                       GraphFormat format) {
  const FlowGraph graph = graph_of(flow, session);
  const std::string says = about(flow, session, by);
  if (format == GraphFormat::kGraphMl) return as_graphml(graph, says);
  return format == GraphFormat::kDot ? as_dot(graph, says) : as_json(graph, says);
}

}  // namespace heed
