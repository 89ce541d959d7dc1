// The sequence of a template's tokens.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[at_ + (now().kind == TokenKind::kEnd ? 0 : 1)]; }
  Token take() { return now().kind == TokenKind::kEnd ? now() : tokens_[at_++]; }

  bool is(TokenKind kind) const { return now().kind == kind; }
  bool is(TokenKind kind, std::string_view text) const { return is(kind) && now().text == text; }
  bool is_operator(std::string_view text) const { return is(TokenKind::kOperator, text); }
  bool is_name(std::string_view text) const { return is(TokenKind::kName, text); }

  bool skip_operator(std::string_view text) { return is_operator(text) && (++at_, true); }
  bool skip_name(std::string_view text) { return is_name(text) && (++at_, true); }

  Token expect(TokenKind kind, std::string_view what) {
    if (!is(kind)) refuse(what);
    return take();
  }
  void expect_operator(std::string_view text) {
    if (!skip_operator(text)) refuse(fmt::format("'{}'", text));
  }

  /// Reads items in brackets, separated by commas, with an optional trailing comma.
  template <typename ReadItem>
  void read_between(std::string_view open, std::string_view close, const ReadItem& read_item) {
    expect_operator(open);
    while (!skip_operator(close)) {
      read_item();
      if (!is_operator(close)) expect_operator(",");
    }
  }

  [[noreturn]] void refuse(std::string_view expected) const {
    const bool has_text = !now().text.empty();
    refuse_in_line(now().line, has_text ? fmt::format("'{}'", now().text) : name_of(now().kind),
                   expected);
  }

 private:
  static std::string name_of(TokenKind kind) {
    return kind == TokenKind::kBlockEnd    ? "'%}'"
           : kind == TokenKind::kOutputEnd ? "'}}'"
           : kind == TokenKind::kString    ? "an empty text"
                                           : "the end of the template";
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace heed::jinja
