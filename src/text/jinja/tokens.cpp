#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "text/jinja/token_stream.h"
#include "text/utf8.h"

namespace heed::jinja {

void refuse_in_line(int line, Phrase found, Phrase expected, ErrorCode code) {
  fail({.code = code,
        .place = fmt::format("line {}", line),
        .found = std::move(found),
        .expected = std::move(expected)});
}

namespace {

bool is_blank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }
bool begins_name(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte < 0;
}

// Ends every line with \n, except the last.
std::string with_plain_lines(std::string_view source) {
  std::string text;
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\r' && at + 1 < source.size() && source[at + 1] == '\n') continue;
    text += source[at] == '\r' ? '\n' : source[at];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      add_text(source_.substr(at_, tag - at_), tag);
      if (tag == source_.size()) break;
      read_tag(tag);
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::size_t next_tag() const {
    for (std::size_t at = source_.find('{', at_); at != std::string::npos;
         at = source_.find('{', at + 1))
      if (at + 1 < source_.size() && std::string_view("{%#").find(source_[at + 1]) < 3) return at;
    return source_.size();
  }

  bool has(std::size_t at, std::string_view text) const {
    return source_.compare(at, text.size(), text) == 0;
  }
  char sign_of(std::size_t tag) const {
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    return sign == '-' || (sign == '+' && source_[tag + 1] != '{') ? sign : ' ';
  }

  // The text before a tag: "-" removes all white space, a block the spaces before it on its line.
  void add_text(std::string text, std::size_t tag) {
    const int line = line_;
    line_ += static_cast<int>(std::ranges::count(text, '\n'));
    const bool has_tag = tag < source_.size();
    if (has_tag && sign_of(tag) == '-') {
      while (!text.empty() && is_blank(text.back())) text.pop_back();
    } else if (has_tag && source_[tag + 1] != '{' && sign_of(tag) != '+') {
      const std::size_t begin = text.rfind('\n') + 1;
      if ((begin > 0 || line_starts_) &&
          std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_blank))
        text.resize(begin);
    }
    if (!text.empty()) tokens_.push_back({TokenKind::kText, std::move(text), line});
    at_ = tag;
  }

  void read_tag(std::size_t tag) {
    const char kind = source_[tag + 1];
    at_ = tag + 2 + (sign_of(tag) == ' ' ? 0 : 1);
    if (kind == '#') return end_comment();
    if (kind == '%' && begins_raw()) return read_raw();
    const bool is_output = kind == '{';
    add(is_output ? TokenKind::kOutputBegin : TokenKind::kBlockBegin, "");
    open_.clear();
    while (!ends_tag(is_output ? "}}" : "%}", is_output)) read_token();
    add(is_output ? TokenKind::kOutputEnd : TokenKind::kBlockEnd, "");
  }

  void end_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) refuse_in_line(line_, "a comment without its end", "#}");
    const char sign = end > at_ ? source_[end - 1] : ' ';
    skip_to(end + 2);
    after_tag(sign, /*is_output=*/false);
  }

  void skip_to(std::size_t end) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
  }

  void skip_blanks() {
    while (at_ < source_.size() && is_blank(source_[at_])) skip_to(at_ + 1);
  }

  // White space after a tag: "-" removes all of it, a block the line end.
  void after_tag(char sign, bool is_output) {
    if (sign == '-')
      skip_blanks();
    else if (!is_output && sign != '+' && at_ < source_.size() && source_[at_] == '\n')
      skip_to(at_ + 1);
    line_starts_ = at_ > 0 && source_[at_ - 1] == '\n';
  }

  // "}}" inside open braces closes these.
  bool ends_tag(std::string_view end, bool is_output) {
    skip_blanks();
    if (at_ >= source_.size())
      refuse_in_line(line_, "the end of the template", fmt::format("\"{}\"", end));
    if (!open_.empty()) return false;
    const char sign = source_[at_];
    const bool has_sign = sign == '-' || (sign == '+' && !is_output);
    if (!has(at_ + (has_sign ? 1 : 0), end)) return false;
    at_ += end.size() + (has_sign ? 1 : 0);
    after_tag(has_sign ? sign : ' ', is_output);
    return true;
  }

  bool begins_raw() const {
    std::size_t at = at_;
    while (at < source_.size() && is_blank(source_[at])) ++at;
    if (!has(at, "raw")) return false;
    for (at += 3; at < source_.size() && is_blank(source_[at]);) ++at;
    return has(at, "%}") || has(at, "-%}");
  }

  // {% raw %} unchanged text {% endraw %}
  void read_raw() {
    const std::size_t end_of_tag = source_.find("%}", at_);
    const bool strips = source_[end_of_tag - 1] == '-';
    skip_to(end_of_tag + 2);
    if (strips) skip_blanks();
    line_starts_ = source_[at_ - 1] == '\n';
    for (std::size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      std::size_t at = tag + 2 + (sign_of(tag) == ' ' ? 0 : 1);
      while (at < source_.size() && is_blank(source_[at])) ++at;
      if (!has(at, "endraw")) continue;
      add_text(source_.substr(at_, tag - at_), tag);
      at_ = at + 6;
      if (ends_tag("%}", false)) return;
    }
    refuse_in_line(line_, "a raw block without its end", "{% endraw %}");
  }

  void read_token() {
    const char byte = source_[at_];
    if (byte == '"' || byte == '\'') return read_string(byte);
    if (is_digit(byte)) return read_number();
    if (begins_name(byte)) {
      std::size_t end = at_;
      while (end < source_.size() && (begins_name(source_[end]) || is_digit(source_[end]))) ++end;
      add(TokenKind::kName, source_.substr(at_, end - at_));
      at_ = end;
      return;
    }
    read_operator();
  }

  void read_operator() {
    constexpr std::array<std::string_view, 27> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]",
        "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", "!"};
    const auto found =
        std::ranges::find_if(kOperators, [&](std::string_view text) { return has(at_, text); });
    if (found == kOperators.end() || *found == "!")
      refuse_in_line(line_,
                     fmt::format("'{}'", source_.substr(at_, character_at(source_, at_).bytes)),
                     "an expression");
    const char byte = found->front();
    if (byte == '(' || byte == '[' || byte == '{')
      open_ += byte == '(' ? ')' : byte == '[' ? ']' : '}';
    if (byte == ')' || byte == ']' || byte == '}') {
      if (open_.empty() || open_.back() != byte)
        refuse_in_line(
            line_, fmt::format("'{}'", byte),
            open_.empty() ? std::string("none that is open") : fmt::format("'{}'", open_.back()));
      open_.pop_back();
    }
    add(TokenKind::kOperator, std::string(*found));
    at_ += found->size();
  }

  void read_number() {
    const auto digits = [&](std::size_t from) {
      while (from < source_.size() && (is_digit(source_[from]) || source_[from] == '_')) ++from;
      return from;
    };
    std::size_t end = digits(at_);
    bool is_float = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_float = true;
      end = digits(end + 1);
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const std::size_t sign =
          end + 1 < source_.size() && (source_[end + 1] == '-' || source_[end + 1] == '+') ? 1 : 0;
      if (end + 1 + sign < source_.size() && is_digit(source_[end + 1 + sign])) {
        is_float = true;
        end = digits(end + 1 + sign);
      }
    }
    std::string text = source_.substr(at_, end - at_);
    std::erase(text, '_');
    if (end < source_.size() && begins_name(source_[end]))
      refuse_in_line(line_, fmt::format("'{}{}'", text, source_[end]), "a decimal number");
    if (!is_float && text.size() > 1 && text[0] == '0' &&
        text.find_first_not_of('0') != std::string::npos)
      refuse_in_line(line_, fmt::format("'{}'", text), "a decimal number");
    add(is_float ? TokenKind::kFloat : TokenKind::kInteger, std::move(text));
    at_ = end;
  }

  void read_string(char quote) {
    std::string text;
    const int line = line_;
    std::size_t at = at_ + 1;
    for (; at < source_.size() && source_[at] != quote; ++at) {
      if (source_[at] == '\\' && at + 1 < source_.size())
        at = read_escape(at + 1, text);
      else
        text += source_[at];
    }
    if (at >= source_.size()) refuse_in_line(line, "a text without its end", std::string(1, quote));
    add(TokenKind::kString, std::move(text));
    skip_to(at + 1);
  }

  // Reads the escape whose letter is at `at`; returns its last byte. Unknown ones are kept.
  std::size_t read_escape(std::size_t at, std::string& text) const {
    constexpr std::string_view kLetters = "\\'\"abfnrtv\n", kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const char letter = source_[at];
    if (letter == '\n') return at;
    if (const std::size_t known = kLetters.find(letter); known < kMeanings.size()) {
      text += kMeanings[known];
      return at;
    }
    const bool is_octal = letter >= '0' && letter <= '7';
    const std::size_t count = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (letter == 'N')
      refuse_in_line(line_, "an escape \\N", "\\u and the number of the character");
    if (count == 0 && !is_octal) {
      text += '\\';
      text += letter;
      return at;
    }
    const char* const begin = source_.data() + at + (is_octal ? 0 : 1);
    const char* const limit =
        std::min(begin + (is_octal ? 3 : count), source_.data() + source_.size());
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(begin, limit, code, is_octal ? 8 : 16);
    const bool is_character = code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
    if (error != std::errc() || (!is_octal && end != begin + count) || !is_character)
      refuse_in_line(line_, fmt::format("an escape \\{}", letter), "the number of a character");
    text += to_utf8(static_cast<char32_t>(code));
    return static_cast<std::size_t>(end - source_.data()) - 1;
  }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  std::string source_;
  std::vector<Token> tokens_;
  std::string open_;  // the closing brackets of the open ones
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // the next text begins at the beginning of a line
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
  return Lexer(with_plain_lines(source)).run();
}

}  // namespace heed::jinja
