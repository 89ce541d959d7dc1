#include "inspect/evidence/flow.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/sequences.h"

namespace heed {

std::vector<std::int64_t> reached(const std::vector<double>& shares) {
  std::vector<std::int64_t> nodes;
  for (std::size_t node = 0; node < shares.size(); ++node)
    if (shares[node] > 0) nodes.push_back(static_cast<std::int64_t>(node));
  return nodes;
}

namespace {

// The nodes with separate columns: the largest shares, the position and the requested key.
std::vector<bool> named_nodes(const std::vector<double>& shares, const FlowRequest& request) {
  auto order = ascending<std::size_t>(std::ssize(shares));
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t node) { return shares[node]; });
  std::vector<bool> named(shares.size());
  for (std::int64_t at = 0; at < std::min(request.named, std::ssize(order)); ++at)
    named[order[static_cast<std::size_t>(at)]] = true;
  named[static_cast<std::size_t>(request.position)] = true;
  if (request.key) named[static_cast<std::size_t>(*request.key)] = true;
  return named;
}

// The end of the nodes of one side that can contribute: for a causal model, the position's.
std::int64_t end_of(const std::vector<double>& shares, std::int64_t begin, std::int64_t end) {
  while (end > begin && shares[static_cast<std::size_t>(end - 1)] == 0) --end;
  return end;
}

std::vector<FlowColumn> columns_with(const Flow& flow, std::int64_t count) {
  FlowRequest request = flow.request;
  request.named = count;
  const std::vector<bool> named = named_nodes(flow.shares, request);
  std::vector<FlowColumn> columns;
  for (const auto& [begin, end] : {std::pair(std::int64_t{0}, flow.tokens),
                                   std::pair(flow.tokens, flow.tokens + flow.source)}) {
    bool open = false;
    const std::int64_t last = end_of(flow.shares, begin, end);
    for (std::int64_t node = begin; node < end; ++node) {
      const auto at = static_cast<std::size_t>(node);
      if (node >= last && !named[at]) break;
      if (named[at] || !open) columns.push_back({.begin = node, .end = node});
      columns.back().end = node + 1;
      columns.back().share += flow.shares[at];
      open = !named[at];
    }
  }
  return columns;
}

// Runs between named tokens also need columns, so if large shares are scattered, fewer tokens are
// named.
std::vector<FlowColumn> columns_of(const Flow& flow) {
  constexpr std::int64_t kRuns = 4;
  std::int64_t named = flow.request.named;
  std::vector<FlowColumn> columns = columns_with(flow, named);
  while (std::ssize(columns) > flow.request.named + kRuns && named > 1)
    columns = columns_with(flow, --named);
  return columns;
}

std::vector<std::int64_t> column_of_nodes(const std::vector<FlowColumn>& columns,
                                          std::size_t nodes) {
  std::vector<std::int64_t> column(nodes, -1);
  for (std::size_t at = 0; at < columns.size(); ++at)
    for (std::int64_t node = columns[at].begin; node < columns[at].end; ++node)
      column[static_cast<std::size_t>(node)] = static_cast<std::int64_t>(at);
  return column;
}

std::vector<double> by_column(const std::vector<double>& shares,
                              const std::vector<std::int64_t>& column, std::size_t columns) {
  std::vector<double> sums(columns);
  for (std::size_t node = 0; node < shares.size(); ++node)
    if (column[node] >= 0) sums[static_cast<std::size_t>(column[node])] += shares[node];
  return sums;
}

// Every pair of columns between which the mask allows a move, and the amount that moves.
struct Between {
  std::vector<double> share;  // [columns, columns]
  std::vector<bool> is_edge;
};

Between between_columns(FlowMoves& moves, std::size_t step, const std::vector<double>& shares,
                        const std::vector<std::int64_t>& column, std::size_t columns) {
  Between between{std::vector<double>(columns * columns), std::vector<bool>(columns * columns)};
  const auto add = [&](std::int64_t from, std::size_t to, double share) {
    const auto row = static_cast<std::size_t>(column[static_cast<std::size_t>(from)]) * columns;
    const std::size_t at = row + static_cast<std::size_t>(column[to]);
    between.share[at] += share;
    between.is_edge[at] = true;
  };
  moves.visit(step, reached(shares), [&](std::int64_t node, MoveRow row) {
    const double own = shares[static_cast<std::size_t>(node)];
    double stays = own;
    for (std::size_t to = 0; to < row.size(); ++to) {
      if (row[to] <= 0 || column[to] < 0) continue;
      add(node, to, own * static_cast<double>(row[to]));
      stays -= own * static_cast<double>(row[to]);
    }
    add(node, static_cast<std::size_t>(node), std::max(stays, 0.0));
  });
  return between;
}

FlowLayer layer_of(const Between& between, std::size_t columns, double top_p) {
  std::vector<FlowEdge> all;
  for (std::size_t at = 0; at < between.share.size(); ++at)
    if (between.is_edge[at])
      all.push_back({static_cast<std::int64_t>(at / columns),
                     static_cast<std::int64_t>(at % columns), between.share[at]});
  std::ranges::stable_sort(all, std::greater(), &FlowEdge::share);
  FlowLayer layer;
  double reached = 0;
  for (const FlowEdge& edge : all) {
    if (reached < top_p) {
      layer.edges.push_back(edge);
      reached += edge.share;
    } else {
      ++layer.rest_count;
      layer.rest_share += edge.share;
    }
  }
  return layer;
}

std::vector<std::int64_t> way_to(const FlowLevels& levels, std::int64_t key) {
  std::vector<std::int64_t> way = {key};
  for (std::size_t step = levels.came_over.size(); step-- > 0;) {
    const std::int64_t before = levels.came_over[step][static_cast<std::size_t>(way.back())];
    if (before < 0) return {};  // nothing came from there
    way.push_back(before);
  }
  std::ranges::reverse(way);
  return way;
}

void tell_step(const FlowMoves& moves, std::size_t step, FlowWork work, const OnFlowWork& told) {
  if (told) told(work, static_cast<std::int64_t>(step) + 1, std::ssize(moves.steps().steps));
}

// The shares after one more layer, and the best single way to each.
struct Descent {
  std::vector<double> below, best;  // total share, and share of the best way
  std::vector<std::int64_t> over;
};

Descent descend(FlowMoves& moves, std::size_t step, const std::vector<double>& above,
                const std::vector<double>& best) {
  const std::size_t nodes = above.size();
  Descent down{std::vector<double>(nodes), std::vector<double>(nodes),
               std::vector<std::int64_t>(nodes, -1)};
  const auto come = [&](std::int64_t from, std::size_t to, double share) {
    down.below[to] += above[static_cast<std::size_t>(from)] * share;
    const double way = best[static_cast<std::size_t>(from)] * share;
    if (way <= down.best[to]) return;
    down.best[to] = way;
    down.over[to] = from;
  };
  moves.visit(step, reached(above), [&](std::int64_t node, MoveRow row) {
    const auto own = static_cast<std::size_t>(node);
    double stays = 1;
    for (std::size_t to = 0; to < row.size(); ++to) {
      stays -= static_cast<double>(row[to]);
      if (row[to] > 0 && to != own) come(node, to, static_cast<double>(row[to]));
    }
    come(node, own, std::max(stays, 0.0) + static_cast<double>(row[own]));
  });
  return down;
}

}  // namespace

FlowLevels flow_levels(FlowMoves& moves, std::int64_t position, const OnFlowWork& told) {
  const auto nodes = static_cast<std::size_t>(moves.steps().nodes());
  FlowLevels levels{.shares = {std::vector<double>(nodes)}, .came_over = {}};
  levels.shares[0][static_cast<std::size_t>(position)] = 1;
  std::vector<double> best = levels.shares[0];
  for (std::size_t step = 0; step < moves.steps().steps.size(); ++step) {
    Descent down = descend(moves, step, levels.shares[step], best);
    levels.shares.push_back(std::move(down.below));
    levels.came_over.push_back(std::move(down.over));
    best = std::move(down.best);
    tell_step(moves, step, FlowWork::kLayers, told);
  }
  levels.best = std::move(best);
  return levels;
}

namespace {

double sum_error_of(const FlowLevels& levels) {
  double largest = 0;
  for (const std::vector<double>& shares : levels.shares)
    largest = std::max(largest, std::abs(1 - std::accumulate(shares.begin(), shares.end(), 0.0)));
  return largest;
}

// The shares of the levels without edges.
Flow begun(const FlowMoves& moves, const FlowRequest& request, const FlowLevels& levels) {
  return {.request = request,
          .tokens = moves.steps().tokens,
          .source = moves.steps().source,
          .shares = levels.shares.back(),
          .sum_error = sum_error_of(levels)};
}

}  // namespace

Flow flow_shares(FlowMoves& moves, const FlowRequest& request, const OnFlowWork& told) {
  return begun(moves, request, flow_levels(moves, request.position, told));
}

Flow flow(FlowMoves& moves, const FlowRequest& request, const OnFlowWork& told) {
  const FlowLevels levels = flow_levels(moves, request.position, told);
  Flow flow = begun(moves, request, levels);
  flow.columns = columns_of(flow);
  const std::size_t columns = flow.columns.size();
  const auto column = column_of_nodes(flow.columns, flow.shares.size());
  for (std::size_t step = 0; step < moves.steps().steps.size(); ++step) {
    const Between between = between_columns(moves, step, levels.shares[step], column, columns);
    FlowLayer layer = layer_of(between, columns, request.top_p);
    layer.stack = moves.steps().steps[step].stack;
    layer.layer = moves.steps().steps[step].layer;
    layer.shares = by_column(levels.shares[step], column, columns);
    flow.layers.push_back(std::move(layer));
    tell_step(moves, step, FlowWork::kEdges, told);
  }
  flow.paths = flow_paths(moves, levels, request.position, request.paths);
  flow.others = 1;
  for (const FlowPath& path : flow.paths) flow.others -= path.share;
  if (!request.key) return flow;
  flow.way = way_to(levels, *request.key);
  flow.way_share = levels.best[static_cast<std::size_t>(*request.key)];
  return flow;
}

}  // namespace heed
