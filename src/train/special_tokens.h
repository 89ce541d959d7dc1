// The tokens that frame texts, mask words and end sentences, as tasks need them of a tokenizer.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"
#include "text/added_token.h"

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

/// The same around the two texts of a pair, and the types of both with what stands behind them.
struct PairFrame {
  std::vector<TokenId> before = {}, between = {}, behind = {};
  TokenId first_type = 0, second_type = 0;
  std::int64_t tokens() const {
    return std::ssize(before) + std::ssize(between) + std::ssize(behind);
  }
};
PairFrame pair_frame_of(const Tokenizer& tokenizer);

/// What a vocabulary that is learned for the task gets; `begins`: of lm, something before each
/// text.
LearnedSpecials learned_specials(std::string_view task, bool begins = false);

}  // namespace heed
