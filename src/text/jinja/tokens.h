// A template's text, cut into tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/error.h"

namespace heed::jinja {

enum class TokenKind : std::uint8_t {
  kText,         // between the tags, as it is written out
  kOutputBegin,  // {{
  kOutputEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,  // without its quotes and escapes
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 1;
};

/// With the white space around the tags that Jinja leaves: `trim_blocks` and `lstrip_blocks`, as
/// transformers sets them, and `-` and `+` in the tags. Errors have the line as their place.
std::vector<Token> tokens_of(std::string_view source);

/// Fails in a line of the template.
[[noreturn]] void refuse_in_line(int line, Phrase found, Phrase expected = {},
                                 ErrorCode code = ErrorCode::kCorrupt);

}  // namespace heed::jinja
