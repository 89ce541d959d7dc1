// The tokens that frame texts, mask words and end sentences, as tasks need them of a tokenizer.
#pragma once

#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"
#include "text/learned_specials.h"

namespace heed {

struct SpecialTokens {
  std::vector<TokenId> before = {};  // of each text, as the tokenizer's post-processor says
  std::vector<TokenId> behind = {};
  TokenId mask = -1;
  TokenId pad = -1;
  TokenId end = -1;
};
/// Of the usual names (`[MASK]`, `<mask>`, ...); -1 where the tokenizer has none.
SpecialTokens special_tokens_of(const Tokenizer& tokenizer);

/// What a vocabulary that is learned for the task gets.
LearnedSpecials learned_specials(std::string_view task);

}  // namespace heed
