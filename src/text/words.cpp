#include "text/words.h"

#include <unicode/uchar.h>

#include <array>

#include "text/utf8.h"

namespace heed {
namespace {

enum class Kind : unsigned char { kSpace, kLetter, kNumber, kOther };

Kind look_up(char32_t code) {
  const auto character = static_cast<UChar32>(code);
  if (u_isUWhiteSpace(character)) return Kind::kSpace;
  const auto category = U_MASK(u_charType(character));
  if ((category & U_GC_L_MASK) != 0) return Kind::kLetter;
  if ((category & U_GC_N_MASK) != 0) return Kind::kNumber;
  return Kind::kOther;
}

struct Next {
  Kind kind;
  std::size_t bytes;
};

Next next_at(std::string_view text, std::size_t position) {
  static const auto ascii = [] {
    std::array<Kind, 128> kinds = {};
    for (std::size_t code = 0; code < kinds.size(); ++code)
      kinds[code] = look_up(static_cast<char32_t>(code));
    return kinds;
  }();
  const auto first = static_cast<unsigned char>(text[position]);
  if (first < 0x80) return {ascii[first], 1};
  const Character character = character_at(text, position);
  return {look_up(character.code), character.bytes};
}

// The end of 's 't 're 've 'm 'll 'd at `begin`, or `begin`.
std::size_t contraction_end(std::string_view text, std::size_t begin) {
  for (const std::string_view contraction : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.substr(begin).starts_with(contraction)) return begin + contraction.size();
  return begin;
}

// White space keeps its last character for the word that follows, if one does.
std::size_t space_end(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  std::size_t last = begin;
  while (end < text.size()) {
    const Next next = next_at(text, end);
    if (next.kind != Kind::kSpace) return last > begin ? last : end;
    last = end;
    end += next.bytes;
  }
  return end;
}

}  // namespace

std::size_t word_end(std::string_view text, std::size_t begin) {
  if (text[begin] == '\'') {
    const std::size_t end = contraction_end(text, begin);
    if (end > begin) return end;
  }
  const bool space_first = text[begin] == ' ' && begin + 1 < text.size();
  std::size_t end = begin + (space_first ? 1 : 0);
  const Kind kind = next_at(text, end).kind;
  if (kind == Kind::kSpace) return space_end(text, begin);
  while (end < text.size()) {
    const Next next = next_at(text, end);
    if (next.kind != kind) break;
    end += next.bytes;
  }
  return end;
}

}  // namespace heed
