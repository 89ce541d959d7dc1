// UTF-8, one character at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

/// U+2581, SentencePiece's character for a space.
inline constexpr std::string_view kSpaceMark = "▁";

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8
};

/// The character that begins at `begin` < text.size(). Overlong forms, surrogates and codes beyond
/// U+10FFFF are invalid.
Character character_at(std::string_view text, std::size_t begin);

/// Calls `use(code, bytes)` for each character; an invalid byte is one with the code 0.
void for_each_character(std::string_view text, const auto& use) {
  while (!text.empty()) {
    const Character character = character_at(text, 0);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    use(character.code, text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
}

/// The first byte of the character that contains byte `at` of valid UTF-8.
inline std::size_t character_begin(std::string_view text, std::size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

std::string to_utf8(char32_t code);

/// Throws kInvalidArgument with the byte at which `text` is not valid UTF-8.
void require_utf8(std::string_view text);

/// The text with U+FFFD for invalid bytes: one for each sequence that could have begun a character
/// (Unicode 15, 3.9), like other libraries.
std::string repaired_utf8(std::string_view bytes);

}  // namespace heed
