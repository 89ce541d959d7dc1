// What the scores of heads know of the tokens of an attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// Between two lists of tokens there are neither kinds nor words.
struct ScoredTokens {
  std::size_t rows = 0;                  // 0: the tokens are not known
  std::vector<std::int32_t> kinds;       // equal where tokens are equal
  std::vector<std::int32_t> words;       // rising; tokens of one word have the same
  std::vector<std::int32_t> delimiters;  // keys past the first that are special, or no words
};

ScoredTokens scored_tokens(const Session& session, Stack stack);

}  // namespace heed
