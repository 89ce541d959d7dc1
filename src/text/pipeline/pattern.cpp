#include "text/pipeline/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

struct Next {
  std::uint8_t traits = 0;
  std::size_t end = 0;
};

// ASCII characters, with the traits that words depend on.
constexpr std::array<std::uint8_t, 128> make_ascii() {
  std::array<std::uint8_t, 128> traits = {};
  for (unsigned code = 0; code < 128; ++code) {
    if (code == ' ' || (code >= '\t' && code <= '\r')) traits[code] = kSpace;
    if (code >= '0' && code <= '9') traits[code] = kNumber;
    if (code >= 'A' && code <= 'Z') traits[code] = kLetter | kUpper;
    if (code >= 'a' && code <= 'z') traits[code] = kLetter | kLower;
  }
  return traits;
}
constexpr std::array<std::uint8_t, 128> kAscii = make_ascii();

Next next_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {kAscii[first], at + 1};
  const Character character = character_at(text, at);
  return {traits_of(character.code), at + character.bytes};
}

// The end of the characters with one of these traits; with none of them.
template <std::uint8_t traits, bool has = true>
std::size_t run_end(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const Next next = next_at(text, at);
    if (((next.traits & traits) != 0) != has) break;
    at = next.end;
  }
  return at;
}

constexpr std::uint8_t kWordOrSpace = kSpace | kLetter | kNumber;

bool is_line_break(char letter) { return letter == '\r' || letter == '\n'; }

// The end of 's 't 're 've 'm 'll 'd at `begin`, or `begin`.
std::size_t contraction_end(std::string_view text, std::size_t begin) {
  for (const std::string_view contraction : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.substr(begin).starts_with(contraction)) return begin + contraction.size();
  return begin;
}

// The same in any case; U+017F counts as an s.
std::size_t any_case_contraction_end(std::string_view text, std::size_t begin) {
  constexpr std::string_view kLongS = "\xC5\xBF";
  if (text.substr(begin + 1).starts_with(kLongS)) return begin + 1 + kLongS.size();
  char lower[3] = {'\''};
  const std::size_t count = std::min<std::size_t>(3, text.size() - begin);
  for (std::size_t i = 1; i < count; ++i) {
    const char letter = text[begin + i];
    lower[i] = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  }
  return begin + contraction_end({lower, count}, 0);
}

// White space, except its last character if a word follows.
std::size_t space_end(std::string_view text, std::size_t begin) {
  const std::size_t end = run_end<kSpace>(text, begin);
  if (end == text.size()) return end;
  const std::size_t last = character_begin(text, end - 1);
  return last > begin ? last : end;
}

// White space up to its last line break, or else like space_end.
std::size_t space_or_lines_end(std::string_view text, std::size_t begin) {
  const std::size_t end = run_end<kSpace>(text, begin);
  for (std::size_t at = end; at > begin; --at)
    if (is_line_break(text[at - 1])) return at;
  return space_end(text, begin);
}

template <std::size_t most>
std::size_t digits_end(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  for (std::size_t count = 0; count < most && end < text.size(); ++count) {
    const Next next = next_at(text, end);
    if ((next.traits & kNumber) == 0) break;
    end = next.end;
  }
  return end;
}

// Signs, the first of which may be a space, then line breaks (and slashes).
std::size_t signs_end(std::string_view text, std::size_t signs, bool slashes) {
  std::size_t end = run_end<kWordOrSpace, false>(text, signs);
  while (end < text.size() && (is_line_break(text[end]) || (slashes && text[end] == '/'))) ++end;
  return end;
}

template <std::size_t most_digits>
std::size_t tiktoken_word_end(std::string_view text, std::size_t begin) {
  if (text[begin] == '\'')
    if (const std::size_t end = any_case_contraction_end(text, begin); end > begin) return end;
  const Next first = next_at(text, begin);
  if ((first.traits & kLetter) != 0) return run_end<kLetter>(text, first.end);
  if ((first.traits & kNumber) != 0) return digits_end<most_digits>(text, begin);
  const Next second = first.end < text.size() ? next_at(text, first.end) : Next{kSpace, first.end};
  if ((second.traits & kLetter) != 0 && !is_line_break(text[begin]))
    return run_end<kLetter>(text, second.end);
  if ((first.traits & kSpace) == 0) return signs_end(text, first.end, false);
  if (text[begin] == ' ' && (second.traits & kWordOrSpace) == 0)
    return signs_end(text, second.end, false);
  return space_or_lines_end(text, begin);
}

// --- GPT-4o
// ----------------------------------------------------------------------------------------

bool is_upper_part(std::uint8_t traits) {
  return (traits & (kLetter | kMark)) != 0 && (traits & kLower) == 0;
}
bool is_lower_part(std::uint8_t traits) {
  return (traits & (kLetter | kMark)) != 0 && (traits & kUpper) == 0;
}

// Caseless characters count as upper and as lower case. `lower` is where [upper]*[lower]+ ends and
// `upper` where [upper]+[lower]* ends; `begin` if they do not match.
struct CasedEnds {
  std::size_t lower = 0;
  std::size_t upper = 0;
};

CasedEnds cased_ends(std::string_view text, std::size_t begin) {
  std::size_t at = begin;
  std::size_t last_caseless = begin;  // after the last character that may count as lower case
  while (at < text.size()) {
    const Next next = next_at(text, at);
    if (!is_upper_part(next.traits)) break;
    at = next.end;
    if (is_lower_part(next.traits)) last_caseless = at;
  }
  const std::size_t uppers = at;
  while (at < text.size()) {
    const Next next = next_at(text, at);
    if (!is_lower_part(next.traits)) break;
    at = next.end;
  }
  return {.lower = at > uppers ? at : last_caseless, .upper = uppers > begin ? at : begin};
}

// The end of the word that begins at `begin`, or after its first character if that is not a letter;
// `begin` if there is none.
std::size_t cased_word_end(std::string_view text, std::size_t begin) {
  const Next first = next_at(text, begin);
  const bool leads = (first.traits & (kLetter | kNumber)) == 0 && !is_line_break(text[begin]);
  const CasedEnds led = leads ? cased_ends(text, first.end) : CasedEnds{first.end, first.end};
  const CasedEnds plain = cased_ends(text, begin);
  if (led.lower > first.end) return led.lower;
  if (plain.lower > begin) return plain.lower;
  return led.upper > first.end ? led.upper : plain.upper;
}

std::size_t with_contraction(std::string_view text, std::size_t end) {
  return end < text.size() && text[end] == '\'' ? any_case_contraction_end(text, end) : end;
}

}  // namespace

std::size_t gpt2_word_end(std::string_view text, std::size_t begin) {
  if (text[begin] == '\'')
    if (const std::size_t end = contraction_end(text, begin); end > begin) return end;
  const bool space_first = text[begin] == ' ' && begin + 1 < text.size();
  const Next first = next_at(text, begin + (space_first ? 1 : 0));
  if ((first.traits & kSpace) != 0) return space_end(text, begin);
  if ((first.traits & kLetter) != 0) return run_end<kLetter>(text, first.end);
  if ((first.traits & kNumber) != 0) return run_end<kNumber>(text, first.end);
  return run_end<kWordOrSpace, false>(text, first.end);
}

std::size_t llama3_word_end(std::string_view text, std::size_t begin) {
  return tiktoken_word_end<3>(text, begin);
}

std::size_t qwen2_word_end(std::string_view text, std::size_t begin) {
  return tiktoken_word_end<1>(text, begin);
}

std::size_t gpt4o_word_end(std::string_view text, std::size_t begin) {
  if (const std::size_t end = cased_word_end(text, begin); end > begin)
    return with_contraction(text, end);
  const Next first = next_at(text, begin);
  if ((first.traits & kNumber) != 0) return digits_end<3>(text, begin);
  if ((first.traits & kSpace) == 0) return signs_end(text, first.end, true);
  if (text[begin] == ' ' && first.end < text.size() &&
      (next_at(text, first.end).traits & kWordOrSpace) == 0)
    return signs_end(text, first.end, true);
  return space_or_lines_end(text, begin);
}

namespace {

std::vector<PatternMatch> occurrences(std::string_view text, std::string_view literal) {
  std::vector<PatternMatch> found;
  for (std::size_t at = 0; (at = text.find(literal, at)) != std::string_view::npos;
       at += literal.size())
    found.push_back({at, at + literal.size()});
  return found;
}

// `end(text, begin)` is the end of the match at `begin`; `begin` if there is none.
template <std::size_t (*end)(std::string_view text, std::size_t begin)>
std::vector<PatternMatch> scanned(std::string_view text) {
  std::vector<PatternMatch> found;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t reached = end(text, begin);
    if (reached > begin) found.push_back({begin, reached});
    begin = reached > begin ? reached : begin + character_at(text, begin).bytes;
  }
  return found;
}

// Patterns of the commonest tokenizers, written as scanners, which are many times faster than
// regular expressions.
struct Known {
  std::string_view regex;
  std::vector<PatternMatch> (*matches)(std::string_view text);
};

constexpr Known kKnown[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     scanned<gpt2_word_end>},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     scanned<gpt2_word_end>},
    {kGpt4Words, scanned<llama3_word_end>},
    {kQwen2Words, scanned<qwen2_word_end>},
    {kGpt4oWords, scanned<gpt4o_word_end>},
};

}  // namespace

Pattern read_pattern(const TokenizerFile& file, const Json& value, std::string_view argument) {
  if (const std::string* literal = value["String"].as_text()) {
    if (literal->empty()) file.refuse(value, argument, "a text that is not empty");
    return [literal = *literal](std::string_view text) { return occurrences(text, literal); };
  }
  const std::string* regex = value["Regex"].as_text();
  if (regex == nullptr) file.refuse(value, argument, "an object with a String or a Regex");
  for (const Known& known : kKnown)
    if (known.regex == *regex) return known.matches;
  if (Pattern pattern = read_regex(*regex)) return pattern;
  file.refuse(value["Regex"], fmt::format("{}.Regex", argument),
              "a regular expression that docs/models.md lists", ErrorCode::kUnsupported);
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
