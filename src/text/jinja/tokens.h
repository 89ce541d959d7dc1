// Splits a template's text into tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/error.h"

namespace heed::jinja {

enum class TokenKind : std::uint8_t {
  kText,         // between the tags, copied to the output
  kOutputBegin,  // {{
  kOutputEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,  // without quotes and escapes
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

/// Removes white space around tags like Jinja: `trim_blocks` and `lstrip_blocks`, as set by
/// transformers, and `-` and `+` in the tags. Errors have the line as their place.
std::vector<Token> tokens_of(std::string_view source);

/// Throws for a line of the template.
[[noreturn]] void refuse_in_line(int line, Phrase found, Phrase expected = {},
                                 ErrorCode code = ErrorCode::kCorrupt);

}  // namespace heed::jinja
