#include "inspect/evidence/flow_effects.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/sequences.h"
#include "heed/mask.h"
#include "inspect/evidence/read_out.h"
#include "inspect/session/session_input.h"
#include "tensor/views.h"

namespace heed {
namespace {

// Keys hidden from a query, as indices of one attention.
struct Closed {
  Stack stack = Stack::kSelf;
  int layer = -1;           // -1: all layers
  std::int64_t query = -1;  // -1: all queries except the key itself, if these are the same tokens
  std::int64_t key = 0;
};

Mask mask_of(const Closed& closed) {
  const bool own = closed.stack != Stack::kCross;
  const auto visible = [closed, own](const MaskPlace&, std::int64_t row, std::int64_t key) {
    if (key != closed.key) return true;
    return closed.query >= 0 ? row != closed.query : own && row == key;
  };
  const auto tile = [closed](const MaskPlace&, const MaskTile& part) {
    const bool has = closed.key >= part.key_begin && closed.key < part.key_end;
    return has ? TileClass::kPartial : TileClass::kFull;
  };
  return Mask::custom({.visible = visible, .tile = tile, .name = "closed"});
}

// Hides keys, and keeps the last state of one token if that is measured.
class ClosingTap final : public Tap {
 public:
  ClosingTap(std::vector<Closed> closed, Stack stack, std::int64_t row,
             const std::function<void()>& check)
      : closed_(std::move(closed)), stack_(stack), row_(row), check_(check) {}

  void at(const TapName& name, View value) override {
    check_();
    if (name.kind != TapKind::kFinal || name.stack != stack_) return;
    const ConstView final = value;  // [1, T, C]
    state = Tensor::copy_of(final.select(0, 0).select(0, row_));
  }
  Mask mask(Stack stack, int layer) override {
    Mask all;
    for (const Closed& closed : closed_)
      if (closed.stack == stack && (closed.layer < 0 || closed.layer == layer))
        all = all & mask_of(closed);
    return all;
  }

  Tensor state;

 private:
  std::vector<Closed> closed_;
  Stack stack_;
  std::int64_t row_;
  const std::function<void()>& check_;
};

// The session's tokens that can matter.
Session until(const Session& session, std::int64_t count) {
  Session part;
  part.model = session.model;
  part.info = session.info;
  part.tokens = {session.tokens.begin(), session.tokens.begin() + count};
  part.key_tokens = session.key_tokens;
  if (!session.types.empty()) part.types = {session.types.begin(), session.types.begin() + count};
  part.tokenizer = session.tokenizer;
  part.source_tokenizer = session.source_tokenizer;
  return part;
}

// Runs the text repeatedly, each time with something removed.
class Trials {
 public:
  Trials(const Session& session, const LoadedModel& model, const FlowRequest& request,
         const std::function<void()>& check)
      : model_(model),
        request_(request),
        check_(check),
        ahead_(!session.at(request.stack).shape.causal && request.stack != Stack::kCross),
        reads_(session.info.reads_source() && request.stack == Stack::kEncoder),
        part_(
            until(session, reads_ || ahead_ ? std::ssize(session.tokens) : request.position + 1)) {
    part_.edits = session.edits;
    const Tensor logits = run({});
    if (!says()) return;
    outcome.has_word = true;
    outcome.word = first_choice(row(logits));
    outcome.probability = chance_of(outcome.word, row(logits)).probability;
  }

  // The effect of hiding these, and the word's probability without them.
  HiddenToken without(std::vector<Closed> closed) {
    const Tensor state = state_.share();
    const Tensor logits = run(std::move(closed));
    HiddenToken hidden;
    if (outcome.has_word) {
      hidden.probability = chance_of(outcome.word, row(logits)).probability;
      hidden.effect = std::log(hidden.probability) - std::log(outcome.probability);
    } else {
      const auto width = static_cast<std::size_t>(state.element_count());
      hidden.effect = change_of({state.data<float>(), width}, {state_.data<float>(), width});
      state_ = state.share();
    }
    return hidden;
  }

  std::int64_t tokens_a_pass() const {
    return std::ssize(part_.tokens) + std::ssize(part_.key_tokens);
  }

  FlowOutcome outcome;

 private:
  bool says() const { return part_.info.has_logits && !reads_; }

  Tensor run(std::vector<Closed> closed) {
    const Stack stream =
        part_.info.reads_source() ? (reads_ ? Stack::kEncoder : Stack::kDecoder) : Stack::kSelf;
    ClosingTap tap(std::move(closed), stream, request_.position, check_);
    Tensor out = pass_over(part_, model_, {.tap = &tap, .all_positions = ahead_});
    state_ = std::move(tap.state);
    return out;
  }

  std::span<const float> row(const Tensor& logits) const {
    return matrix_row(logits, logits.dim(0) == 1 ? 0 : request_.position);
  }

  const LoadedModel& model_;
  FlowRequest request_;
  const std::function<void()>& check_;
  bool ahead_;  // later tokens matter too
  bool reads_;  // the encoder's tokens, in a model with both sides
  Session part_;
  Tensor state_;
};

std::vector<Closed> closed_for(const Flow& flow, std::int64_t node) {
  if (node >= flow.tokens)
    return {{.stack = Stack::kEncoder, .key = node - flow.tokens},
            {.stack = Stack::kCross, .key = node - flow.tokens}};
  const Stack own = flow.request.stack == Stack::kCross ? Stack::kDecoder : flow.request.stack;
  return {{.stack = own, .key = node}};
}

std::vector<std::int64_t> by_share(const Flow& flow) {
  std::vector<std::int64_t> nodes = reached(flow.shares);
  std::erase(nodes, flow.request.position);
  std::ranges::stable_sort(nodes, std::greater(), [&](std::int64_t node) {
    return flow.shares[static_cast<std::size_t>(node)];
  });
  return nodes;
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  auto order = ascending<std::size_t>(std::ssize(values));
  std::ranges::sort(order, {}, [&](std::size_t at) { return values[at]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t at = begin; at < end; ++at)
      ranks[order[at]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

struct TriedEdge {
  std::size_t step = 0;
  std::int64_t from = 0, to = 0;
  double share = 0;
};

// The largest edges of the rollout over all layers, without the shares that stay.
std::vector<TriedEdge> largest_edges(FlowMoves& moves, std::int64_t position, std::size_t most,
                                     const OnFlowWork& told) {
  const FlowLevels levels = flow_levels(moves, position, told);
  std::vector<TriedEdge> edges;
  const auto larger = [](const TriedEdge& a, const TriedEdge& b) { return a.share > b.share; };
  for (std::size_t step = 0; step + 1 < levels.shares.size(); ++step) {
    moves.visit(step, reached(levels.shares[step]), [&](std::int64_t node, MoveRow row) {
      const double own = levels.shares[step][static_cast<std::size_t>(node)];
      for (std::size_t to = 0; to < row.size(); ++to) {
        const double share = own * static_cast<double>(row[to]);
        if (share <= 0 || to == static_cast<std::size_t>(node)) continue;
        if (edges.size() == most && share <= edges.front().share) continue;
        edges.push_back({step, node, static_cast<std::int64_t>(to), share});
        std::ranges::push_heap(edges, larger);
        if (edges.size() <= most) continue;
        std::ranges::pop_heap(edges, larger);
        edges.pop_back();
      }
    });
  }
  std::ranges::sort(edges, larger);
  return edges;
}

Closed closed_of(const FlowSteps& steps, const TriedEdge& edge) {
  const FlowStep& step = steps.steps[edge.step];
  const bool crosses = edge.from < steps.tokens && edge.to >= steps.tokens;
  const bool reads = edge.from >= steps.tokens;
  return {.stack = crosses ? Stack::kCross : step.stack,
          .layer = step.layer,
          .query = reads ? edge.from - steps.tokens : edge.from,
          .key = edge.to >= steps.tokens ? edge.to - steps.tokens : edge.to};
}

}  // namespace

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double both = 0, of_x = 0, of_y = 0;
  for (std::size_t at = 0; at < x.size(); ++at) {
    both += (x[at] - mean) * (y[at] - mean);
    of_x += (x[at] - mean) * (x[at] - mean);
    of_y += (y[at] - mean) * (y[at] - mean);
  }
  return both / std::sqrt(of_x * of_y);
}

FlowTest test_flow(const Session& session, const LoadedModel& model, const Flow& flow,
                   const std::function<void()>& check, const OnFlowWork& told,
                   std::int64_t most_tokens) {
  Trials trials(session, model, flow.request, check);
  FlowTest test{.outcome = trials.outcome, .hidden = {}};
  std::vector<std::int64_t> nodes = by_share(flow);
  const auto most =
      static_cast<std::size_t>(std::max<std::int64_t>(most_tokens / trials.tokens_a_pass(), 8));
  test.not_hidden = std::max<std::int64_t>(std::ssize(nodes) - static_cast<std::int64_t>(most), 0);
  nodes.resize(std::min(most, nodes.size()));
  std::ranges::sort(nodes);
  std::vector<double> shares, effects;
  for (const std::int64_t node : nodes) {
    HiddenToken hidden = trials.without(closed_for(flow, node));
    hidden.node = node;
    hidden.share = flow.shares[static_cast<std::size_t>(node)];
    shares.push_back(hidden.share);
    effects.push_back(std::abs(hidden.effect));
    test.hidden.push_back(hidden);
    if (told) told(FlowWork::kHidden, std::ssize(test.hidden), std::ssize(nodes));
  }
  test.rank_correlation = rank_correlation(shares, effects);
  return test;
}

std::int64_t weigh_by_effect(FlowMoves& moves, const Session& session, const LoadedModel& model,
                             const FlowRequest& request, const std::function<void()>& check,
                             const OnFlowWork& told, std::int64_t most_tokens) {
  Trials trials(session, model, request, check);
  const auto most =
      static_cast<std::size_t>(std::max<std::int64_t>(most_tokens / trials.tokens_a_pass(), 8));
  const std::vector<TriedEdge> edges = largest_edges(moves, request.position, most, told);
  std::map<std::pair<std::size_t, std::int64_t>, std::map<std::int64_t, double>> weights;
  std::int64_t tried = 0;
  for (const TriedEdge& edge : edges) {
    weights[{edge.step, edge.from}][edge.to] =
        std::abs(trials.without({closed_of(moves.steps(), edge)}).effect);
    if (told) told(FlowWork::kRemoved, ++tried, std::ssize(edges));
  }
  for (const auto& [from, of_edges] : weights) moves.replace(from.first, from.second, of_edges);
  moves.keep_replaced();
  return std::ssize(edges);
}

}  // namespace heed
