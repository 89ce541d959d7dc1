// Questions about a flow into a token.
#include "heed/error.h"
#include "inspect/answers/questions.h"
#include "inspect/rows/words.h"

namespace heed {
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
