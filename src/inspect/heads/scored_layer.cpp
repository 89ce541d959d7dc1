#include "inspect/heads/scored_layer.h"

#include <map>
#include <string_view>

#include "heed/inspect/units.h"
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

bool is_special(const Tokenizer* tokenizer, const SessionToken& token) {
  return token.text < 0 || (tokenizer != nullptr && tokenizer->is_special(token.id));
}

}  // namespace

ScoredLayer scored_layer(const Session& session, Stack stack, int layer) {
  const std::span<const SessionToken> queries = session.queries(stack);
  const std::span<const SessionToken> keys = session.keys(stack);
  const bool is_square = queries.data() == keys.data();
  const Tokenizer* tokenizer =
      keys.data() == session.tokens.data() ? session.tokenizer : session.source_tokenizer;
  const LayerAttention& attention = session.at({stack, layer, 0});
  ScoredLayer scored{.rows = queries.size()};
  if (attention.write_lengths.given()) scored.write_lengths = attention.write_lengths;
  std::map<std::string_view, std::int32_t> kinds;
  std::int32_t word = -1;
  const std::vector<std::int64_t> words = token_units(keys, tokenizer).words;
  for (std::size_t key = 0; key < keys.size(); ++key) {
    const SessionToken& token = keys[key];
    const bool special = is_special(tokenizer, token);
    if (key > 0 && (special || !has_word_character(token.bytes)))
      scored.delimiters.push_back(static_cast<std::int32_t>(key));
    if (!is_square) continue;
    const auto next = static_cast<std::int32_t>(kinds.size());
    scored.kinds.push_back(kinds.emplace(token.bytes, next).first->second);
    if (word + 1 < std::ssize(words) &&
        words[static_cast<std::size_t>(word) + 1] == std::ssize(scored.words))
      ++word;
    scored.words.push_back(word);
  }
  return scored;
}

}  // namespace heed
