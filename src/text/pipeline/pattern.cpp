#include "text/pipeline/pattern.h"

#include <fmt/format.h>

#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

std::vector<PatternMatch> occurrences(std::string_view text, std::string_view literal) {
  std::vector<PatternMatch> found;
  for (std::size_t at = 0; (at = text.find(literal, at)) != std::string_view::npos;
       at += literal.size())
    found.push_back({at, at + literal.size()});
  return found;
}

}  // namespace

Pattern read_pattern(const TokenizerFile& file, const Json& value, std::string_view argument) {
  if (const std::string* literal = value["String"].as_text()) {
    if (literal->empty()) file.refuse(value, argument, "a text that is not empty");
    return [literal = *literal](std::string_view text) { return occurrences(text, literal); };
  }
  const std::string* regex = value["Regex"].as_text();
  if (regex == nullptr) file.refuse(value, argument, "an object with a String or a Regex");
  try {
    return read_regex(*regex);
  } catch (const UnreadRegex& unread) {
    file.refuse(value["Regex"], fmt::format("{}.Regex", argument),
                fmt::format("a regular expression without {}", unread.construct),
                ErrorCode::kUnsupported);
  }
}

std::size_t skip_spaces(std::string_view text, std::size_t begin, std::size_t end) {
  while (begin < end) {
    const Character character = character_at(text, begin);
    if (!is_space(character.code)) break;
    begin += character.bytes;
  }
  return begin;
}

std::size_t spaces_before(std::string_view text, std::size_t first, std::size_t end) {
  while (end > first) {
    const std::size_t begin = character_begin(text, end - 1);
    if (begin < first || !is_space(character_at(text, begin).code)) break;
    end = begin;
  }
  return end;
}

Piece prepended(const Piece& piece, std::string_view prefix, Arena& arena) {
  Rewrite rewrite(piece, arena);
  rewrite.put(prefix, 0, character_at(piece.text, 0).bytes);
  rewrite.keep(0, piece.text.size());
  return rewrite.finish();
}

}  // namespace heed
