// Which tokens of two texts correspond, so that their weights can be compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/session.h"

namespace heed {

/// Tokens [begin, end).
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const TokenRange&) const = default;
};

struct AlignedTokens {
  TokenRange a = {}, b = {};

  bool operator==(const AlignedTokens&) const = default;
};

/// Words correspond from both ends as long as they are equal, and between these if both texts have
/// equally many. Two words of equally many tokens are aligned token by token, others as a whole.
struct Alignment {
  std::vector<AlignedTokens> pairs = {};  // ascending; empty: the texts cannot be aligned
  AlignedTokens alone = {};               // the words without a counterpart, which are adjacent
};

/// Only single texts of up to 512 tokens that share at least half of their words can be aligned.
Alignment align_words(const Session& a, const Session& b);

/// The token range's text, without the spaces around it.
std::string words_text(const Session& session, const TokenRange& range);

}  // namespace heed
