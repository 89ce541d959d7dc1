#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/wording.h"
#include "cli/look/text.h"
#include "cli/terminal/output.h"
#include "inspect/answers/why.h"
#include "inspect/rows/words.h"

namespace heed::cli {
namespace {

constexpr int kFlowBarCells = 24;

class FlowText {
 public:
  FlowText(const Terminal& terminal, const Session& session, const Flow& flow, const FlowTest& test)
      : terminal_(terminal), session_(session), flow_(flow), test_(test) {}

  std::string all(const FlowOptions& options, std::int64_t tried) const {
    return title(options, tried) + shares(options.top) + "\n" + paths() + "\n" + trust(options.top);
  }

 private:
  std::string name(std::int64_t node) const {
    const bool is_source = node >= flow_.tokens;
    const auto tokens =
        is_source ? session_.keys(flow_.request.stack) : session_.queries(flow_.request.stack);
    const std::string shown =
        TokenNames::shown(terminal_, tokens[static_cast<std::size_t>(index(node))].bytes);
    return is_source ? shown + " (source)" : shown;
  }
  std::int64_t index(std::int64_t node) const {
    return node >= flow_.tokens ? node - flow_.tokens : node;
  }
  bool reads_source() const { return flow_.request.stack == Stack::kCross; }
  bool is_causal() const { return session_.at(flow_.request.stack).shape.causal; }
  // Whether some layers mix tokens without attention.
  bool is_hybrid() const { return !session_.stacks.at(0).shape.attending.empty(); }
  std::string said() const {
    return TokenNames::shown(terminal_, word_of(session_.tokenizer, test_.outcome.word));
  }

  std::string title(const FlowOptions& options, std::int64_t tried) const {
    const std::int64_t position = flow_.request.position;
    std::string into = fmt::format("into {} {}", name(position), position);
    if (test_.outcome.has_word)
      into += fmt::format("; the most probable {} is {}, {}",
                          reads_source() || is_causal() ? "next word" : "word there", said(),
                          weight_text(test_.outcome.probability));
    const std::string how =
        options.by_effect
            ? fmt::format(
                  "by effect, an approximation: the share that moves is split by the change when "
                  "an edge is removed ({} tried)",
                  number_of(tried, "edge"))
            : fmt::format(
                  "rollout, an approximation: in each layer{} {} by the mean of the heads; values, "
                  "MLPs{} and signs are ignored",
                  is_hybrid() ? " with attention" : "",
                  reads_source() ? "a quarter stays, a quarter moves by self-attention and half by "
                                   "cross-attention, each"
                                 : "half stays and half moves",
                  is_hybrid() ? ", the other layers" : "");
    return heading(terminal_, "Flow", into) + paragraph(terminal_, how, 2);
  }

  std::string shares(std::int64_t top) const {
    std::vector<std::int64_t> nodes = reached(flow_.shares);
    const auto share = [&](std::int64_t node) {
      return flow_.shares[static_cast<std::size_t>(node)];
    };
    std::ranges::stable_sort(nodes, std::greater(), share);
    const std::int64_t shown = top < 0 ? std::ssize(nodes) : std::min(top, std::ssize(nodes));
    std::string text;
    double rest = 1;
    for (const std::int64_t node : std::span(nodes).first(static_cast<std::size_t>(shown))) {
      Line line(terminal_);
      line.right(kIndexEnd, std::to_string(index(node)), Style::kDim).to(kWhoColumn);
      line.put(name(node), Style::kBold)
          .to(kWhoColumn + 18)
          .right(kWhoColumn + 24, weight_text(share(node)));
      line.to(kWhoColumn + 25).put(bar(terminal_, share(node), kFlowBarCells), Style::kBar);
      text += line.str();
      rest -= share(node);
    }
    if (shown == std::ssize(nodes)) return text;
    return text + Line(terminal_)
                      .to(kWhoColumn)
                      .put(fmt::format("+{} in {}", weight_text(std::max(rest, 0.0)),
                                       number_of(std::ssize(nodes) - shown, "other")),
                           Style::kDim)
                      .str();
  }

  std::string paths() const {
    std::string text = heading(terminal_, "Paths", "each path sums over the layers of its hops");
    const std::string_view arrow = terminal_.utf8 ? " → " : " -> ";
    for (const FlowPath& path : flow_.paths) {
      std::string hops;
      for (const std::int64_t node : path.nodes) {
        if (!hops.empty()) hops += arrow;
        hops += fmt::format("{} {}", name(node), index(node));
      }
      if (path.nodes.size() == 1) hops += " stays";
      Line line(terminal_);
      line.right(kWhoColumn + 1, weight_text(path.share)).to(kWhoColumn + 3).put(hops);
      text += line.str();
    }
    return text + Line(terminal_)
                      .right(kWhoColumn + 1, weight_text(std::max(flow_.others, 0.0)), Style::kDim)
                      .to(kWhoColumn + 3)
                      .put("all others", Style::kDim)
                      .str();
  }

  // Shares compared with the effects of hiding.
  std::string hidden_rows(std::span<const HiddenToken> hidden) const {
    if (hidden.empty()) return {};
    const bool words = test_.outcome.has_word;
    const auto end = [&](Line line, const std::string& share, const std::string& effect,
                         const std::string& then, Style style) {
      line.right(kWhoColumn + 24, share, style).right(kWhoColumn + 34, effect, style);
      if (words) line.right(kWhoColumn + 43, then, Style::kDim);
      return line.str();
    };
    std::string text =
        end(Line(terminal_), "share", words ? "effect" : "change", "then", Style::kDim);
    for (const HiddenToken& one : hidden) {
      Line line(terminal_);
      line.right(kIndexEnd, std::to_string(index(one.node)), Style::kDim).to(kWhoColumn);
      line.put(name(one.node), Style::kBold);
      text += end(std::move(line), weight_text(one.share), fmt::format("{:+.3f}", one.effect),
                  weight_text(one.probability), Style::kPlain);
    }
    return text;
  }

  std::string trust(std::int64_t top) const {
    const std::string what =
        test_.outcome.has_word
            ? fmt::format(
                  "the change of the log-probability of {}, in nats, and its new "
                  "probability",
                  said())
            : "change of the token's last state";
    std::string text = heading(terminal_, "How far to trust it",
                               fmt::format("each token hidden from the others{}, run again: {}",
                                           is_hybrid() ? " in layers with attention" : "", what));
    std::vector<HiddenToken> hidden = test_.hidden;
    std::ranges::stable_sort(hidden, std::greater(),
                             [](const HiddenToken& h) { return std::abs(h.effect); });
    const std::int64_t shown = top < 0 ? std::ssize(hidden) : std::min(top, std::ssize(hidden));
    text += hidden_rows(std::span(hidden).first(static_cast<std::size_t>(shown)));
    std::string verdict =
        std::isnan(test_.rank_correlation)
            ? "too few tokens for a rank correlation"
            : fmt::format("rank correlation of share and effect: {:.2f}, of {}",
                          test_.rank_correlation, number_of(test_.hidden.size(), "token"));
    if (test_.not_hidden > 0)
      verdict += fmt::format("; {} smaller shares were not tried", test_.not_hidden);
    return text + paragraph(terminal_, verdict, 2);
  }

  const Terminal& terminal_;
  const Session& session_;
  const Flow& flow_;
  const FlowTest& test_;
};

}  // namespace

std::string look_flow(const Terminal& terminal, const Session& session, const LoadedModel& model,
                      const FlowOptions& options) {
  const std::function<void()> check = [] { check_interrupted(); };
  FlowMoves moves(rollout_steps(session, options.flow.stack), check);
  const std::int64_t tried =
      options.by_effect ? weigh_by_effect(moves, session, model, options.flow, check) : 0;
  const Flow found = flow(moves, options.flow);
  const char* by = options.by_effect ? "effect" : "rollout";
  if (options.format == "graphml") return flow_graph(found, session, by, GraphFormat::kGraphMl);
  if (options.format == "dot") return flow_graph(found, session, by, GraphFormat::kDot);
  if (options.format == "json") return flow_graph(found, session, by, GraphFormat::kJson);
  return FlowText(terminal, session, found, test_flow(session, model, found, check))
      .all(options, tried);
}

}  // namespace heed::cli
