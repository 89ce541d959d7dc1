// Words and tokens: the tokens that a word names, the word that a token is a piece of, the
// likeliest next words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/inspect/look.h"
#include "heed/inspect/session.h"

namespace heed {

/// How the caller names the two sides of an attention in errors: "--who" and "--to".
struct WordSides {
  std::string_view queries, keys;
};

/// As find_word of the stack's queries or keys. If only the model's other text has the word, the
/// error says which side or stack to name.
std::vector<std::int64_t> find_word(const Session& session, Stack stack, bool is_key,
                                    const std::string& word, const WordSides& sides);

/// A word, without spaces, and the bytes of it that one token holds.
struct WordPiece {
  std::string word = {};
  std::size_t begin = 0, end = 0;
};

/// For each token that is a piece of a word the word; an empty one for other tokens, in scripts
/// that write words without spaces, and where all pieces of the word are single letters.
std::vector<WordPiece> pieces_of_words(std::span<const SessionToken> tokens);

/// The `top` largest of softmax(logits), ties to the lower id, and what is left over.
NextWords likeliest(std::span<const float> logits, const Tokenizer* tokenizer, std::int64_t top);

/// [MASK] or <mask>, of an encoder that fills it.
std::optional<TokenId> mask_token_of(const Session& session);

/// What a token reads as: `#5` without a tokenizer.
std::string word_of(const Tokenizer* tokenizer, TokenId id);

}  // namespace heed
