// The tokens that frame texts, mask words and end sentences, as tasks need them.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "heed/tokenizer.h"
#include "text/added_token.h"

namespace heed {

struct SpecialTokens {
  std::vector<TokenId> before = {};  // of each text, according to the tokenizer's post-processor
  std::vector<TokenId> behind = {};
  TokenId mask = -1;
  TokenId pad = -1;
  TokenId end = -1;
};
/// Finds the usual names (`[MASK]`, `<mask>`, ...); -1 if the tokenizer lacks one.
SpecialTokens special_tokens_of(const Tokenizer& tokenizer);

/// The frame around the two texts of a pair, and the token types of both texts and the tokens after
/// them.
struct PairFrame {
  std::vector<TokenId> before = {}, between = {}, behind = {};
  TokenId first_type = 0, second_type = 0;
  std::int64_t tokens() const {
    return std::ssize(before) + std::ssize(between) + std::ssize(behind);
  }
};
PairFrame pair_frame_of(const Tokenizer& tokenizer);

/// The special tokens of a tokenizer trained for the task; `begins`: for lm, adds one before each
/// text.
LearnedSpecials learned_specials(std::string_view task, bool begins = false);

}  // namespace heed
