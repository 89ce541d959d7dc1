// Tokens that are a piece of a word, as people read them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// A word, without spaces, and the bytes of it that one token holds.
struct WordPiece {
  std::string word = {};
  std::size_t begin = 0, end = 0;
};

/// For each token that is a piece of a word the word; an empty one for other tokens, in scripts
/// that write words without spaces, and where all pieces of the word are single letters.
std::vector<WordPiece> pieces_of_words(std::span<const SessionToken> tokens);

}  // namespace heed
