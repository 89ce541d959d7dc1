// Best first: a way with this beginning has at most the share that arrives at its last token.
#include <algorithm>
#include <queue>

#include "inspect/evidence/flow.h"

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

}  // namespace heed
