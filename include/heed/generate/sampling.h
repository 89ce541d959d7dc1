// From logits to the next token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed {

/// Applied in this order: repetition penalty, temperature, top-k, top-p, min-p; what is left is
/// renormalised after each.
struct Sampling {
  double repetition_penalty =
      1;                     // > 0: logits of tokens that occurred are divided by it where
                             // positive, multiplied where negative (Keskar et al. 2019); 1: off
  double temperature = 0.8;  // divides the logits; 0: greedy, always the largest logit
  std::int64_t top_k = 0;    // only the k most probable tokens; 0: all
  double top_p = 1;  // only the most probable ones that together reach p (Holtzman et al. 2020)
  double min_p = 0;  // only those that reach this share of the most probable one's probability
};

/// Throws where a member is out of range.
void check(const Sampling& sampling);

/// One token that may come next.
struct Choice {
  TokenId id = 0;
  double probability = 0;
};

/// The tokens that may come next, in order of their ids, their probabilities summing to 1. Of
/// equally probable ones a filter prefers the lower id. `seen` are the tokens that occurred. A NaN
/// or +inf among the logits is kCorrupt: weights are broken. -inf alone is kInvalidArgument: rules
/// forbid every token.
std::vector<Choice> choices(std::span<const float> logits, const Sampling& sampling,
                            std::span<const TokenId> seen = {});

/// The choice that `uniform` in [0, 1) falls on.
TokenId choose(std::span<const Choice> choices, double uniform);

/// The number in [0, 1), 53 bits, that decides the token at `position` of a text: a function of the
/// two alone, whatever else is generated beside it.
double sampling_number(std::uint64_t seed, std::int64_t position);

}  // namespace heed
