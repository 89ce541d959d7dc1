#include "text/jinja/texts.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/jinja/value.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed::jinja {

bool is_python_space(char32_t code) { return is_space(code) || (code >= 0x1C && code <= 0x1F); }

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for_each_character(text, [&](char32_t, std::string_view own) { characters.emplace_back(own); });
  return characters;
}

std::string stripped(std::string_view text, const std::optional<std::string>& chars, Side side) {
  const auto goes = [&](std::size_t at) {
    const Character character = character_at(text, at);
    if (!chars) return is_python_space(character.code);
    return chars->find(text.substr(at, character.bytes)) != std::string::npos;
  };
  if (side != Side::kRight)
    while (!text.empty() && goes(0)) text.remove_prefix(character_at(text, 0).bytes);
  if (side != Side::kLeft)
    while (!text.empty()) {
      const std::size_t last = character_begin(text, text.size() - 1);
      if (!goes(last)) break;
      text = text.substr(0, last);
    }
  return std::string(text);
}

std::string upper(std::string_view text) {
  std::string out;
  for_each_character(text, [&](char32_t code, std::string_view) {
    out +=
        code == U'ß'
            ? "SS"
            : to_utf8(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))));
  });
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  for_each_character(text, [&](char32_t code, std::string_view) {
    const LowerCase lowered = lower_case(code);
    for (int i = 0; i < lowered.count; ++i) out += to_utf8(lowered.codes[i]);
  });
  return out;
}

std::string capitalized(std::string_view text) {
  if (text.empty()) return "";
  const std::size_t first = character_at(text, 0).bytes;
  return upper(text.substr(0, first)) + lower(text.substr(first));
}

namespace {

// Upper case for the first letter of each word, lower case for the others.
std::string with_capitals(std::string_view text, const auto& ends_word) {
  std::string out;
  bool begins = true;
  for_each_character(text, [&](char32_t code, std::string_view own) {
    out += begins ? upper(own) : lower(own);
    begins = ends_word(code);
  });
  return out;
}

}  // namespace

std::string titled(std::string_view text) {
  return with_capitals(text, [](char32_t code) { return !is_letter(code); });
}

std::string titled_words(std::string_view text) {
  return with_capitals(text, [](char32_t code) {
    return is_python_space(code) || code == '-' || code == '(' || code == '{' || code == '[' ||
           code == '<';
  });
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to,
                     std::int64_t count) {
  std::string out;
  if (from.empty()) refuse("an empty text is replaced", "one to look for");
  while (count != 0) {
    const std::size_t found = text.find(from);
    if (found == std::string_view::npos) break;
    out += text.substr(0, found);
    out += to;
    require_size(std::ssize(out));
    text.remove_prefix(found + from.size());
    --count;
  }
  return out += text;
}

namespace {

// The first (or last) run of white space after (or before) something.
std::vector<std::string> words(std::string_view text, std::int64_t most, bool from_right) {
  std::vector<std::string> parts;
  const auto space_at = [&](std::size_t at) {
    return is_python_space(character_at(text, at).code);
  };
  const Side near = from_right ? Side::kRight : Side::kLeft;
  std::string rest = stripped(text, {}, near);
  while (!rest.empty()) {
    text = rest;
    std::size_t at = from_right ? text.size() : 0;
    if (from_right)
      while (at > 0 && !space_at(character_begin(text, at - 1))) at = character_begin(text, at - 1);
    else
      while (at < text.size() && !space_at(at)) at += character_at(text, at).bytes;
    if (most == 0) {
      parts.emplace_back(text);
      break;
    }
    --most;
    parts.emplace_back(from_right ? text.substr(at) : text.substr(0, at));
    std::string next = stripped(from_right ? text.substr(0, at) : text.substr(at), {}, near);
    rest = std::move(next);
  }
  if (from_right) std::ranges::reverse(parts);
  return parts;
}

}  // namespace

std::vector<std::string> split(std::string_view text, std::string_view separator, std::int64_t most,
                               bool from_right) {
  if (separator.empty()) return words(text, most, from_right);
  std::vector<std::string> parts;
  for (; most != 0; --most) {
    const std::size_t found = from_right ? text.rfind(separator) : text.find(separator);
    if (found == std::string_view::npos) break;
    const std::string_view left = text.substr(0, found),
                           right = text.substr(found + separator.size());
    parts.emplace_back(from_right ? right : left);
    text = from_right ? left : right;
  }
  parts.emplace_back(text);
  if (from_right) std::ranges::reverse(parts);
  return parts;
}

std::vector<std::string> lines_of(std::string_view text) {
  constexpr std::u32string_view kEnds = U"\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029";
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    std::size_t end = at + character.bytes;
    if (kEnds.find(character.code) != std::u32string_view::npos) {
      if (character.code == '\r' && end < text.size() && text[end] == '\n') ++end;
      lines.emplace_back(text.substr(begin, at - begin));
      begin = end;
    }
    at = end;
  }
  if (begin < text.size()) lines.emplace_back(text.substr(begin));
  return lines;
}

}  // namespace heed::jinja
