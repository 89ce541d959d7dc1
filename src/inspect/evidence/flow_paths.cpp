// Best first: a way with this beginning has at most the share that arrives at its last token.
#include <algorithm>
#include <queue>
#include <utility>

#include "inspect/evidence/flow.h"
#include "inspect/rows/lines.h"

namespace heed {
namespace {

constexpr std::size_t kMostOpened = 20000;  // ways; shares are so uneven that a few dozen suffice

// A set of ways with the same hops so far. `share[l]` is their share at the last token at level l.
struct Begun {
  std::vector<std::int64_t> nodes;
  std::vector<double> share;
  double bound = 0;  // for all ways with this beginning; for a finished one, its share
  bool has_ended = false;
  bool operator<(const Begun& other) const { return bound < other.bound; }
};

class Search {
 public:
  Search(FlowMoves& moves, std::size_t levels) : moves_(moves), levels_(levels) {}

  std::vector<FlowPath> run(std::int64_t position, std::int64_t most) {
    Begun first{.nodes = {position}, .share = std::vector<double>(levels_), .bound = 1};
    first.share[0] = 1;
    open_.push(std::move(first));
    std::vector<FlowPath> found;
    for (std::size_t opened = 0; !open_.empty() && std::ssize(found) < most; ++opened) {
      Begun way = open_.top();
      open_.pop();
      if (way.has_ended) {
        found.push_back({std::move(way.nodes), way.bound});
        continue;
      }
      if (opened > kMostOpened) continue;  // finished ways are still collected
      go_on(std::move(way));
    }
    return found;
  }

 private:
  // Keeps the part that stays, and opens the ways with another hop.
  void go_on(Begun way) {
    const std::int64_t node = way.nodes.back();
    const auto nodes = static_cast<std::size_t>(moves_.steps().nodes());
    std::vector<std::vector<double>> hops(levels_);  // by the level they reach
    for (std::size_t level = 0; level + 1 < levels_; ++level) {
      const double here = way.share[level];
      if (here <= 0) continue;
      hops[level + 1].assign(nodes, 0);
      moves_.visit(level, std::span(&node, 1), [&](std::int64_t, MoveRow row) {
        double stays = 1;
        for (std::size_t to = 0; to < nodes; ++to) {
          if (static_cast<std::int64_t>(to) == node) continue;
          stays -= static_cast<double>(row[to]);
          hops[level + 1][to] = here * static_cast<double>(row[to]);
        }
        way.share[level + 1] += here * std::max(stays, 0.0);
      });
    }
    open_hops(way, hops, nodes);
    open_.push({.nodes = way.nodes, .share = {}, .bound = way.share.back(), .has_ended = true});
  }

  void open_hops(const Begun& way, const std::vector<std::vector<double>>& hops,
                 std::size_t nodes) {
    for (std::size_t to = 0; to < nodes; ++to) {
      Begun next{.nodes = {}, .share = std::vector<double>(levels_)};
      for (std::size_t level = 0; level < levels_; ++level) {
        next.share[level] = hops[level].empty() ? 0 : hops[level][to];
        next.bound += next.share[level];
      }
      if (next.bound < kLeast) continue;
      next.nodes = way.nodes;
      next.nodes.push_back(static_cast<std::int64_t>(to));
      open_.push(std::move(next));
    }
  }

  static constexpr double kLeast = 1e-5;  // smaller ways are ignored
  FlowMoves& moves_;
  std::size_t levels_;
  std::priority_queue<Begun> open_;
};

}  // namespace

std::vector<FlowPath> flow_paths(FlowMoves& moves, const FlowLevels& levels, std::int64_t position,
                                 std::int64_t most) {
  return Search(moves, levels.shares.size()).run(position, most);
}

namespace {

constexpr std::size_t kRowsAtOnce = 64;
constexpr std::size_t kMostNumbers = std::size_t{1} << 25;  // of cached rows: 128 MiB

// Adds a step for each layer with attention, the last one first; in half of each a token stays
// itself. A decoder's layer may also attend to the source.
void add_steps(FlowSteps& flow, const Session& session, Stack stack, std::int64_t first,
               bool crosses = false) {
  const StackShape own = session.at(stack).shape;
  const StackShape cross = crosses ? session.at(Stack::kCross).shape : StackShape{};
  for (int layer = std::max(own.layers, cross.layers); layer-- > 0;) {
    FlowStep step{.stack = stack, .layer = layer, .parts = {}};
    if (own.has(layer))
      step.parts.push_back({.layer = &session.at({stack, layer, 0}),
                            .from = first,
                            .to = first,
                            .share = cross.has(layer) ? 0.25 : 0.5});
    if (cross.has(layer))
      step.parts.push_back(
          {.layer = &session.at({Stack::kCross, layer, 0}), .from = first, .to = flow.tokens});
    if (!step.parts.empty()) flow.steps.push_back(std::move(step));
  }
}

// Adds the mean over heads of some rows.
void add_rows(const FlowPart& part, const std::vector<std::int64_t>& rows,
              const std::function<std::vector<float>&(std::int64_t row)>& into) {
  const std::int64_t heads = part.layer->q.dim(1);
  const auto share = static_cast<float>(part.share / static_cast<double>(heads));
  for (int head = 0; head < heads; ++head)
    visit_lines(*part.layer, {.head = head, .rows = rows, .hidden = 0}, [&](const RowView& row) {
      std::vector<float>& sum = into(row.query);
      float* const to = sum.data() + part.to;
      for (std::size_t key = 0; key < row.weights.size(); ++key)
        to[key] += share * row.weights[key];
    });
}

}  // namespace

FlowSteps rollout_steps(const Session& session, Stack stack) {
  const bool crosses = stack == Stack::kCross;
  FlowSteps flow{.tokens = std::ssize(session.queries(stack)),
                 .source = crosses ? std::ssize(session.keys(stack)) : 0,
                 .steps = {}};
  add_steps(flow, session, crosses ? Stack::kDecoder : stack, 0, crosses);
  if (crosses) add_steps(flow, session, Stack::kEncoder, flow.tokens);
  return flow;
}

FlowMoves::FlowMoves(FlowSteps steps, std::function<void()> check)
    : steps_(std::move(steps)),
      check_(std::move(check)),
      rows_(steps_.steps.size()),
      replaced_(steps_.steps.size()) {}

bool FlowMoves::has_room() const {
  std::size_t rows = 0;
  for (const auto& of_step : rows_) rows += of_step.size();
  return (rows + kRowsAtOnce) * static_cast<std::size_t>(steps_.nodes()) <= kMostNumbers;
}

void FlowMoves::compute(std::size_t step, std::span<const std::int64_t> nodes) {
  check_();
  if (!has_room())
    for (auto& of_step : rows_) of_step.clear();
  auto& rows = rows_[step];
  const auto width = static_cast<std::size_t>(steps_.nodes());
  for (const std::int64_t node : nodes) rows[node].assign(width, 0);
  for (const FlowPart& part : steps_.steps[step].parts) {
    std::vector<std::int64_t> own;
    for (const std::int64_t node : nodes)
      if (node >= part.from && node < part.from + part.layer->queries())
        own.push_back(node - part.from);
    if (!own.empty())
      add_rows(part, own, [&](std::int64_t row) -> Row& { return rows[row + part.from]; });
  }
}

void FlowMoves::visit(std::size_t step, std::span<const std::int64_t> nodes,
                      const std::function<void(std::int64_t node, MoveRow row)>& use) {
  const Row none(static_cast<std::size_t>(steps_.nodes()), 0);
  for (std::size_t begin = 0; begin < nodes.size(); begin += kRowsAtOnce) {
    const auto some = nodes.subspan(begin, std::min(kRowsAtOnce, nodes.size() - begin));
    std::vector<std::int64_t> missing;
    for (const std::int64_t node : some)
      if (!only_replaced_ && !rows_[step].contains(node)) missing.push_back(node);
    if (!missing.empty()) compute(step, missing);
    for (const std::int64_t node : some) {
      const auto other = replaced_[step].find(node);
      if (other != replaced_[step].end()) {
        use(node, other->second);
      } else if (only_replaced_) {
        use(node, none);
      } else {
        use(node, rows_[step].at(node));
      }
    }
  }
}

void FlowMoves::replace(std::size_t step, std::int64_t node,
                        const std::map<std::int64_t, double>& weights) {
  Row row(static_cast<std::size_t>(steps_.nodes()), 0);
  double sum = 0;
  for (const auto& [to, weight] : weights) sum += weight;
  double moved = 0;
  visit(step, std::span(&node, 1), [&](std::int64_t, MoveRow own) {
    for (const float share : own) moved += share;
  });
  if (sum > 0)
    for (const auto& [to, weight] : weights)
      row[static_cast<std::size_t>(to)] = static_cast<float>(moved * weight / sum);
  replaced_[step][node] = std::move(row);
}

}  // namespace heed
