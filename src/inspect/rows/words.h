// Words and tokens: the tokens that a word names, the word of which a token is a piece, the
// likeliest next words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sequences.h"
#include "heed/look.h"
#include "heed/session.h"

namespace heed {

/// The caller's names in errors for the two sides of an attention: "--who" and "--to".
struct WordSides {
  std::string_view queries, keys;
};

/// Like find_word, for the stack's queries or keys. If only the model's other text has the word,
/// the error says which side or stack to name.
std::vector<std::int64_t> find_word(const Session& session, Stack stack, bool is_key,
                                    const std::string& word, const WordSides& sides);

/// A word, without spaces, and the bytes of it that one token has.
struct WordPiece {
  std::string word = {};
  std::size_t begin = 0, end = 0;
};

/// For each token that is a piece of a word, the word; empty for other tokens, in scripts without
/// spaces, and if all pieces of the word are single letters.
std::vector<WordPiece> pieces_of_words(std::span<const SessionToken> tokens);

/// The ids below `count` with the `top` largest values, the largest first; ties to the lower id.
std::vector<TokenId> largest_ids(std::int64_t count, std::int64_t top, const auto& value_of) {
  auto ids = ascending<TokenId>(count);
  const auto end = ids.begin() + std::min(top, count);
  std::ranges::partial_sort(ids, end, [&](TokenId a, TokenId b) {
    return value_of(a) != value_of(b) ? value_of(a) > value_of(b) : a < b;
  });
  ids.erase(end, ids.end());
  return ids;
}

/// The `top` largest of softmax(logits), ties to the lower id, and the rest.
NextWords likeliest(std::span<const float> logits, const Tokenizer* tokenizer, std::int64_t top);

/// [MASK] or <mask>, for an encoder that fills it.
std::optional<TokenId> mask_token_of(const Session& session);

/// The positions of [MASK] or <mask> in the text of an encoder that fills masks.
std::vector<std::int64_t> mask_places(const Session& session);

/// A token's text: `#5` without a tokenizer.
std::string word_of(const Tokenizer* tokenizer, TokenId id);

}  // namespace heed
