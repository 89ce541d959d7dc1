// The standard probe: what heads do on a random sequence that repeats itself.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

struct ProbeOptions {
  int sequences = 16;
  std::int64_t period = 0;  // tokens before the sequence repeats; 0: 64, less where positions end
  std::uint64_t seed = 0;
};

/// Means, over the rows i of the second half (i >= P, the period), of a head's weights p[i, j].
struct ProbedHead {
  int layer = 0;
  int head = 0;
  double previous = 0;   // mean p[i, i - 1]
  double next = 0;       // mean p[i, i + 1], of all rows but the last; 0 where heads are causal
  double sink = 0;       // mean p[i, 0]: the first token
  double duplicate = 0;  // mean p[i, i - P]: the same token, a period ago
  double induction = 0;  // mean p[i, i - P + 1]: the token that followed it (Olsson et al. 2022)
};

struct Probe {
  std::int64_t period = 0;
  int sequences = 0;
  std::vector<ProbedHead> heads;  // layer by layer
  /// Nats a token: of those that nothing announces, and of those that the repetition announces.
  double loss_first = 0;
  double loss_repeated = 0;
};

/// Sequences of `period` tokens, uniform over the vocabulary without its special tokens, each
/// written twice. Errors (kInvalidArgument): fewer than 2 x 2 positions, options out of range.
Probe probe_heads(const LoadedModel& model, const ProbeOptions& options = {});

/// Runs the same sequences and hands each over, as a session of 2 x period tokens.
void visit_probe(const LoadedModel& model, const ProbeOptions& options,
                 const std::function<void(const Session& session, std::int64_t period)>& use);

/// One sequence's layer: one sweep. `index` is the layer's number, for the result.
std::vector<ProbedHead> probe_layer(const LayerAttention& layer, int index, std::int64_t period);

}  // namespace heed
