#include "inspect/heads/scored_tokens.h"

#include <map>
#include <string_view>

#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

bool has_word_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (character.bytes == 0) return true;  // a part of a character
    if (is_letter(character.code) || is_number(character.code) || is_mark(character.code))
      return true;
    at += character.bytes;
  }
  return false;
}

bool begins_with_space(std::string_view text) {
  const Character first = text.empty() ? Character() : character_at(text, 0);
  return first.bytes > 0 && is_space(first.code);
}

bool ends_with_space(std::string_view text) {
  if (text.empty()) return false;
  const std::size_t last = character_begin(text, text.size() - 1);
  const Character character = character_at(text, last);
  return character.bytes > 0 && is_space(character.code);
}

bool is_special(const Tokenizer* tokenizer, const SessionToken& token) {
  return token.text < 0 || (tokenizer != nullptr && tokenizer->is_special(token.id));
}

// A token goes on with the word before it where no space stands between, and both have letters.
bool goes_on(const SessionToken& before, const SessionToken& token) {
  const bool is_placed = token.end > token.begin && before.end > before.begin;
  const bool apart = is_placed && (token.text != before.text || token.begin != before.end);
  return !apart && !begins_with_space(token.bytes) && !ends_with_space(before.bytes) &&
         has_word_character(token.bytes) && has_word_character(before.bytes);
}

}  // namespace

ScoredTokens scored_tokens(const Session& session, Stack stack) {
  const std::span<const SessionToken> queries = session.queries(stack);
  const std::span<const SessionToken> keys = session.keys(stack);
  const bool is_square = queries.data() == keys.data();
  const Tokenizer* tokenizer =
      keys.data() == session.tokens.data() ? session.tokenizer : session.source_tokenizer;
  ScoredTokens scored;
  scored.rows = queries.size();
  std::map<std::string_view, std::int32_t> kinds;
  std::int32_t word = -1;
  for (std::size_t key = 0; key < keys.size(); ++key) {
    const SessionToken& token = keys[key];
    const bool special = is_special(tokenizer, token);
    if (key > 0 && (special || !has_word_character(token.bytes)))
      scored.delimiters.push_back(static_cast<std::int32_t>(key));
    if (!is_square) continue;
    const auto next = static_cast<std::int32_t>(kinds.size());
    scored.kinds.push_back(kinds.emplace(token.bytes, next).first->second);
    const bool same = key > 0 && !special && !is_special(tokenizer, keys[key - 1]) &&
                      goes_on(keys[key - 1], token);
    if (!same) ++word;
    scored.words.push_back(word);
  }
  return scored;
}

}  // namespace heed
