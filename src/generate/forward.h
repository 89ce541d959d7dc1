// A decoder's passes over growing texts, and the distributions of its logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/generate.h"

namespace heed {

/// A cache for `beams` texts per prompt, with room for their maximal length.
KvCache cache_of(const Model& model, const GenerateArgs& args, std::int64_t beams);

/// Logits [rows, 1, V] after each row's last token: feeds the tokens that the cache lacks. The
/// first pass also reads the sources, one per row.
Tensor next_logits(const Model& model, KvCache& cache,
                   const std::vector<std::span<const TokenId>>& rows,
                   const std::vector<std::vector<TokenId>>& sources);

/// The same without a cache, for the last tokens of each row: as many as the model has positions.
Tensor cropped_logits(const Model& model, const std::vector<std::span<const TokenId>>& rows,
                      const std::vector<std::vector<TokenId>>& sources);

/// Row r of these logits.
std::span<const float> row_of(const Tensor& logits, std::size_t r);

/// kCorrupt if a logit is NaN or +inf (the weights are broken); kInvalidArgument if all are -inf
/// (rules forbid every token).
void check_logits(std::span<const float> logits);

/// softmax(logits), in double.
struct Distribution {
  double log_sum = 0;  // log of the sum of exp
  double entropy = 0;  // in nats
};
Distribution distribution_of(std::span<const float> logits);

/// A token with its probability and the entropy of its distribution.
GeneratedToken token_of(TokenId id, std::span<const float> logits,
                        const Distribution& distribution);

}  // namespace heed
