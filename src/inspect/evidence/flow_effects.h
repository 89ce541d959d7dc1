// Tests a flow: removes what it says matters, and runs the model again.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "inspect/evidence/flow.h"

namespace heed {

/// The measured outcome.
struct FlowOutcome {
  bool has_word = false;  // false: the position's last state is measured
  TokenId word = 0;       // the likeliest one at the position
  double probability = 0;
};

/// One token hidden from all others in every layer; it still sees itself.
struct HiddenToken {
  std::int64_t node = 0;
  double share = 0;        // of the flow
  double effect = 0;       // of hiding it: on the word's log p, in nats; else |change| / |state|
  double probability = 0;  // the word's probability without it
};

struct FlowTest {
  FlowOutcome outcome;
  std::vector<HiddenToken> hidden;  // by node
  std::int64_t not_hidden = 0;      // tokens with a share that were not tested for lack of time
  double rank_correlation = 0;      // Spearman's, of share and |effect|; NaN for fewer than three
};

/// Reads only the flow's shares. Runs passes until the tokens that they read reach `most_tokens`,
/// in descending order of share.
FlowTest test_flow(const Session& session, const LoadedModel& model, const Flow& flow,
                   const std::function<void()>& check, const OnFlowWork& told = {},
                   std::int64_t most_tokens = 100'000);

/// Weights moves by effect: removes each of the rollout's largest edges from all heads of its
/// layer, and distributes a token's moves by |effect|; a token without a tested edge keeps
/// everything. Returns the number of tested edges.
std::int64_t weigh_by_effect(FlowMoves& moves, const Session& session, const LoadedModel& model,
                             const FlowRequest& request, const std::function<void()>& check,
                             const OnFlowWork& told = {}, std::int64_t most_tokens = 100'000);

/// Spearman's rank correlation; equal values share their mean rank.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace heed
