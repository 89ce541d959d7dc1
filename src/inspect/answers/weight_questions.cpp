// Questions about a head's weights: rows, columns, arcs, margins, single cells, why one has its
// value and what changes without it. Questions about flows.
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/parallel.h"
#include "heed/error.h"
#include "heed/session.h"
#include "inspect/answers/questions.h"
#include "inspect/map/cells.h"
#include "inspect/rows/lines.h"
#include "inspect/rows/words.h"

namespace heed {
namespace {

constexpr std::int64_t kLinesAtOnce = 64;  // bounds the memory of a window

RestAnswer rest_of(const Largest& largest) { return {largest.rest_count, largest.rest_weight}; }

std::vector<LookKey> keys_of(const Largest& largest) {
  std::vector<LookKey> keys;
  for (const Entry& entry : in_order(largest.entries)) keys.push_back({entry.at, entry.weight});
  return keys;
}

// The sum of several lines; an entry stays masked if all of them mask it.
class Folded {
 public:
  explicit Folded(std::int64_t length)
      : sums_(static_cast<std::size_t>(length)), visible_(static_cast<std::size_t>(length)) {}

  void add(std::int64_t at, float value) {
    if (std::isnan(value)) return;
    sums_[static_cast<std::size_t>(at)] += static_cast<double>(value);
    visible_[static_cast<std::size_t>(at)] = true;
  }

  std::vector<float> over(std::int64_t count) const {
    std::vector<float> line(sums_.size(), std::numeric_limits<float>::quiet_NaN());
    for (std::size_t at = 0; at < line.size(); ++at)
      if (visible_[at]) line[at] = static_cast<float>(sums_[at] / static_cast<double>(count));
    return line;
  }

 private:
  std::vector<double> sums_;
  std::vector<bool> visible_;
};

// Calls `use` for rectangles of at most 64 rows (or columns) that together cover the request.
void visit_cells(const LiveSession& session, const LineRequest& request, bool rows, Cancel& cancel,
                 auto use) {
  const std::shared_ptr<const LayerAttention> layer =
      session.layer_as(request.quantity, request.place, cancel);
  for (std::int64_t begin = request.begin; begin < request.end; begin += kLinesAtOnce) {
    const std::int64_t end = std::min(begin + kLinesAtOnce, request.end);
    CellsRequest cells{
        .head = request.place.head, .row_end = layer->queries(), .key_end = layer->keys()};
    (rows ? cells.row_begin : cells.key_begin) = begin;
    (rows ? cells.row_end : cells.key_end) = end;
    use(matrix_cells(*layer, cells, cancel));
  }
}

HeadEdgesAnswer edges_of(const LiveSession& session, const EdgesRequest& request, int head,
                         Cancel& cancel) {
  HeadEdgesAnswer answer{.head = head};
  const LineRequest lines{.place = {request.stack, request.layer, head},
                          .quantity = request.quantity,
                          .begin = request.begin,
                          .end = request.end};
  visit_cells(session, lines, true, cancel, [&](const Cells& cells) {
    for (std::int64_t y = 0; y < cells.height; ++y) {
      const std::span<const float> row = cells.row(y);
      const Largest largest = largest_of(hidden_for_masked({row.begin(), row.end()}), request.rule);
      answer.rows.push_back({request.begin + std::ssize(answer.rows), largest.entropy,
                             keys_of(largest), rest_of(largest)});
    }
  });
  return answer;
}

}  // namespace

RowAnswer answer_row(const LiveSession& session, const LineRequest& request, Cancel& cancel) {
  Folded sum(session.size(request.place.stack).keys);
  visit_cells(session, request, true, cancel, [&](const Cells& cells) {
    for (std::int64_t y = 0; y < cells.height; ++y)
      for (std::int64_t x = 0; x < cells.width; ++x) sum.add(x, cells.at(y, x));
  });
  const std::vector<float> weights = sum.over(request.end - request.begin);
  const Largest largest = largest_of(hidden_for_masked(weights), request.rule);
  return {.place = request.place,
          .query = request.begin,
          .end = request.end,
          .entropy = largest.entropy,
          .sum = largest.sum,
          .largest = largest.largest,
          .weights = {weights},
          .edges = keys_of(largest),
          .rest = rest_of(largest)};
}

ColumnAnswer answer_column(const LiveSession& session, const LineRequest& request, Cancel& cancel) {
  Folded sum(session.size(request.place.stack).queries);
  visit_cells(session, request, false, cancel, [&](const Cells& cells) {
    for (std::int64_t y = 0; y < cells.height; ++y)
      for (std::int64_t x = 0; x < cells.width; ++x) sum.add(y, cells.at(y, x));
  });
  const std::vector<float> weights = sum.over(1);
  const Largest largest = largest_of(hidden_for_masked(weights), request.rule);
  ColumnAnswer answer{.place = request.place,
                      .key = request.begin,
                      .end = request.end,
                      .sum = largest.sum,
                      .largest = largest.largest,
                      .weights = {weights},
                      .rest = rest_of(largest)};
  for (const Entry& entry : in_order(largest.entries))
    answer.edges.push_back({entry.at, entry.weight});
  return answer;
}

EdgesAnswer answer_edges(const LiveSession& session, const EdgesRequest& request, Cancel& cancel) {
  EdgesAnswer answer{.stack = request.stack,
                     .layer = request.layer,
                     .top_p = request.rule.top_p.value_or(1),
                     .at_most = request.rule.at_most,
                     .begin = request.begin,
                     .end = request.end};
  for (const int head : request.heads)
    answer.heads.push_back(edges_of(session, request, head, cancel));
  return answer;
}

MarginalsAnswer answer_marginals(const Place& place, const Margins& margins) {
  return {place, margins.received, margins.keys_in_use, {margins.row_sum_error}};
}

CellAnswer answer_cell(const LiveSession& session, const Place& place, std::int64_t query,
                       std::int64_t key) {
  const SerialScope serial;
  return {place, look_cell(session.layer(place), place.head, query, key)};
}

namespace {

// The layer, whose pass must have ended, if its scores were computed from q and k.
const LayerAttention& scored_layer(const char* op, const LiveSession& live, const Place& place) {
  const LayerAttention& layer = live.layer(place);
  if (has_only_weights(live.session()))
    fail({.code = ErrorCode::kUnsupported,
          .op = op,
          .found = "a session of weights alone",
          .expected = "q and k, of which scores are made"});
  return layer;
}

}  // namespace

WhyAnswer answer_why(const LiveSession& session, const WhyRequest& request) {
  const LayerAttention& layer = scored_layer("why", session, request.place);
  return {why(session.session(), session.model(), request.place, request.query, request.key),
          HeadRows(layer, request.place.head).kv_head()};
}

OriginsAnswer answer_origins(const LiveSession& session, const OriginsRequest& request) {
  session.layer(request.place);  // the pass has ended
  static constexpr std::array kNames = {"raw", "mean", "runner_up"};
  const auto writes = session.writes(rows_for(session.session(), request));
  return {origins(session.session(), session.require_model(), *writes, request),
          kNames.at(static_cast<std::size_t>(request.against))};
}

Effect answer_effect(const LiveSession& session, const WhyRequest& request, std::int64_t top) {
  session.layer(request.place);
  const OriginsRequest rows = {request.place, request.query, request.key, Against::kRaw, {}};
  const auto writes = session.writes(rows_for(session.session(), rows));
  return effect(session.session(), session.require_model(), *writes, request.place, request.query,
                request.key, top);
}

TrialAnswer answer_trial(const LiveSession& session, const Edits& edits, const WhyRequest& at,
                         std::int64_t top) {
  const std::optional<std::int64_t> position =
      tried_position(session.session(), at.place.stack, at.query);
  return {
      try_edits(session.session(), session.require_model(), edits, position, top, &session.dropped),
      to_text(canonical(edits))};
}

Anatomy answer_anatomy(const LiveSession& session, const WhyRequest& window) {
  scored_layer("anatomy", session, window.place);
  return anatomy(session.session(), session.model(), window.place, window.query, window.key);
}

Dimensions answer_dimensions(const LiveSession& session, const DimensionsRequest& request,
                             Cancel& cancel) {
  scored_layer("dimensions", session, request.place);
  return dimensions(session.session(), request, cancel);
}

Geometry answer_geometry(const LiveSession& session, const GeometryRequest& request,
                         Cancel& cancel) {
  scored_layer("geometry", session, request.place);
  return geometry(session.session(), session.model(), request, cancel);
}

namespace {

const LoadedModel& model_of(const LiveSession& live) {
  if (live.model() != nullptr) return *live.model();
  fail({.code = ErrorCode::kUnsupported,
        .op = "flow",
        .found = "a session without a model, which cannot be run again",
        .expected = "by=rollout"});
}

}  // namespace

FlowAnswer answer_flow(const LiveSession& live, const FlowRequest& request, FlowBy by,
                       const Check& check, const OnFlowWork& told) {
  const Session& session = live.session();
  FlowMoves moves(rollout_steps(session, request.stack), check);
  FlowAnswer answer{.by = by == FlowBy::kRollout ? "rollout" : "effect"};
  if (by == FlowBy::kEffect)
    answer.tried = weigh_by_effect(moves, session, model_of(live), request, check, told);
  answer.flow = flow(moves, request, told);
  return answer;
}

FlowTestAnswer answer_flow_test(const LiveSession& live, const FlowRequest& request,
                                const Check& check, const OnFlowWork& told) {
  const Session& session = live.session();
  FlowMoves moves(rollout_steps(session, request.stack), check);
  const Flow shares = flow_shares(moves, request, told);
  const FlowTest test = test_flow(session, model_of(live), shares, check, told);
  FlowTestAnswer answer{
      .stack = request.stack, .position = request.position, .not_hidden = test.not_hidden};
  if (std::isfinite(test.rank_correlation)) answer.rank_correlation = {test.rank_correlation};
  const FlowOutcome& outcome = test.outcome;
  if (outcome.has_word)
    answer.word = WordAnswer{outcome.word, word_of(session.tokenizer, outcome.word),
                             static_cast<float>(outcome.probability)};
  for (const HiddenToken& hidden : test.hidden) answer.hidden.push_back({hidden, outcome.has_word});
  return answer;
}

}  // namespace heed
