// A decoder's passes over texts that grow, and what its logits say.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/generate/generate.h"

namespace heed {

/// A cache for `beams` texts of every prompt, of the length that they may get.
KvCache cache_of(const Model& model, const GenerateArgs& args, std::int64_t beams);

/// Logits [rows, 1, V] behind each row's last token: feeds the tokens that the cache lacks. The
/// first pass reads the sources too, one a row.
Tensor next_logits(const Model& model, KvCache& cache,
                   const std::vector<std::span<const TokenId>>& rows,
                   const std::vector<std::vector<TokenId>>& sources);

/// The same without a cache, of the last tokens of each row: as many as the model has positions.
Tensor cropped_logits(const Model& model, const std::vector<std::span<const TokenId>>& rows,
                      const std::vector<std::vector<TokenId>>& sources);

/// Row r of what these gave.
std::span<const float> row_of(const Tensor& logits, std::size_t r);

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
