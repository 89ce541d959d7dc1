// What a text may and must say, whatever the model finds probable.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed {

/// As transformers' `no_repeat_ngram_size`, `min_new_tokens`, `min_length`, `suppress_tokens`,
/// `begin_suppress_tokens`, `forced_bos_token_id`, `forced_eos_token_id`, `renormalize_logits`. Ids
/// beyond the vocabulary forbid nothing. Several forced tokens are equally probable: the lowest id
/// comes (a beam search of transformers takes any of them).
struct TokenRules {
  std::int64_t no_repeat_ngram = 0;      // no sequence of so many tokens comes twice; 0: any may
  std::int64_t least_tokens = 0;         // a text does not end before
  std::int64_t least_length = 0;         // the same with the prompt counted
  std::vector<TokenId> suppressed = {};  // never written
  std::vector<TokenId> suppressed_first = {};  // not the first token that is written
  std::optional<TokenId> forced_first = {};    // follows a prompt of one token
  std::vector<TokenId> forced_last = {};       // one of them is the last of the most tokens
  /// A beam search makes the log-probabilities sum to 1 again behind the rules.
  bool renormalises = false;
};

}  // namespace heed
