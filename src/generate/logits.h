// What a decoder's logits say.
#pragma once

#include <span>
#include <vector>

#include "heed/generate/generate.h"

namespace heed {

/// kFailed where one is not a number or infinite, or all are -inf: a model that is broken.
void check_logits(std::span<const float> logits);

/// The tokens that may not follow these ids: each the last of a sequence that the model never
/// writes, whose others end the text. An end token alone is no such sequence,
/// and one of several tokens counts once the text is as long.
std::vector<TokenId> never_next(const ModelInfo& info, std::span<const TokenId> ids);

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
