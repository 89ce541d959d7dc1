#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heed/look.h"
#include "inspect/rows/lines.h"
#include "inspect/rows/words.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

constexpr char32_t kFirstWithoutSpaces = 0x0E00;  // Thai; scripts below it use spaces

// Only letters and numbers. `Lily's` is two words to a reader.
bool is_plain_word(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const bool is_part = is_letter(character.code) || is_number(character.code) ||
                         is_mark(character.code) || character.code == '-';
    if (character.bytes == 0 || character.code >= kFirstWithoutSpaces || !is_part) return false;
    at += character.bytes;
  }
  return !text.empty();
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

}  // namespace

std::vector<WordPiece> pieces_of_words(std::span<const SessionToken> tokens) {
  std::vector<WordPiece> pieces(tokens.size());
  const std::vector<std::int64_t> begins = token_units(tokens, nullptr).words;
  for (std::size_t word = 0; word < begins.size(); ++word) {
    const auto begin = static_cast<std::size_t>(begins[word]);
    const auto end = static_cast<std::size_t>(unit_end(begins, word, std::ssize(tokens)));
    std::string text;
    bool are_letters = true;  // for a model that reads letters: they are pieces of every word
    for (std::size_t at = begin; at < end; ++at) {
      const std::string_view piece =
          at == begin ? without_spaces(tokens[at].bytes) : std::string_view(tokens[at].bytes);
      pieces[at] = {.begin = text.size(), .end = text.size() + piece.size()};
      text += piece;
      are_letters = are_letters && piece.size() < 2;
    }
    if (end - begin < 2 || are_letters || !is_plain_word(text)) continue;
    for (std::size_t at = begin; at < end; ++at) pieces[at].word = text;
  }
  return pieces;
}

}  // namespace heed
