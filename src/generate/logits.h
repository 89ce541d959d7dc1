// What a decoder's logits say.
#pragma once

#include <span>

#include "heed/generate/generate.h"

namespace heed {

/// kCorrupt where one is not a number or infinite: weights are broken; kInvalidArgument where all
/// are -inf, since rules forbid each.
void check_logits(std::span<const float> logits);

/// softmax(logits), in double.
struct Distribution {
  double log_sum = 0;  // log of the sum of exp
  double entropy = 0;  // in nats
};
Distribution distribution_of(std::span<const float> logits);

/// A token with its probability and the entropy of the distribution that it comes from.
GeneratedToken token_of(TokenId id, std::span<const float> logits,
                        const Distribution& distribution);

}  // namespace heed
