// The test of a flow: what it says matters is taken away, and the model runs again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "inspect/evidence/flow.h"

namespace heed {

/// What the effects are measured on.
struct FlowOutcome {
  bool has_word = false;  // else the position's last state
  TokenId word = 0;       // the likeliest at the position
  double probability = 0;
};

/// One token hidden from every other one, in every layer; it still sees itself.
struct HiddenToken {
  std::int64_t node = 0;
  double share = 0;        // of the flow
  double effect = 0;       // of hiding: on log p of the word, in nats; else |change| / |state|
  double probability = 0;  // of the word then
};

struct FlowTest {
  FlowOutcome outcome;
  std::vector<HiddenToken> hidden;  // by node
  std::int64_t not_hidden = 0;      // tokens with a share for which there was no time
  double rank_correlation = 0;      // Spearman's, of share and |effect|; NaN of fewer than three
};

/// Reads only the flow's shares. Runs passes until the tokens that they read reach `most_tokens`:
/// those of the largest shares first.
FlowTest test_flow(const Session& session, const LoadedModel& model, const Flow& flow,
                   const std::function<void()>& check, const OnFlowWork& told = {},
                   std::int64_t most_tokens = 100'000);

/// Moves by effect: each of the rollout's largest edges is removed from all heads of its layer, and
/// a token's moves are spread by |effect|; where no edge of it was tried, all stays. Returns how
/// many edges were tried.
std::int64_t weigh_by_effect(FlowMoves& moves, const Session& session, const LoadedModel& model,
                             const FlowRequest& request, const std::function<void()>& check,
                             const OnFlowWork& told = {}, std::int64_t most_tokens = 100'000);

/// Spearman's rank correlation; equal values share their mean rank.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace heed
