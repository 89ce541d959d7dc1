// Questions about one weight, why it has its value and what changes without it, and about flows.
#include <array>
#include <optional>

#include "heed/error.h"
#include "heed/session.h"
#include "inspect/answers/questions.h"
#include "inspect/rows/words.h"

namespace heed {
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
