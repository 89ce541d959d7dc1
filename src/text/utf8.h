// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8
};

/// The character that begins at `begin` < text.size(). Overlong forms, surrogates and codes beyond
/// U+10FFFF are not valid.
Character character_at(std::string_view text, std::size_t begin);

std::string to_utf8(char32_t code);

/// Throws kInvalidArgument with the byte where `text` is not valid UTF-8.
void require_utf8(std::string_view text);

}  // namespace heed
