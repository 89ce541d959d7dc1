#include "text/unicode/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

struct Part {
  FormedCharacter character;
  int combining_class = 0;
};

int combining_class(char32_t code) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class;
}

void decompose(char32_t code, std::size_t begin, std::size_t end, bool compatible,
               std::vector<Part>& parts) {
  constexpr std::size_t kLongest = 32;  // the longest decomposition (U+FDFA) has 18 characters
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  std::array<utf8proc_int32_t, kLongest> codes;
  int boundary = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code), codes.data(), kLongest, options, &boundary);
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
    const auto part = static_cast<char32_t>(codes[k]);
    parts.push_back({{part, begin, end}, combining_class(part)});
  }
}

std::vector<Part> decomposed(std::string_view text, bool compatible) {
  std::vector<Part> parts;
  parts.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    const std::size_t end = i + character.bytes;
    if (is_library_formed(character.code)) {
      decompose(character.code, i, end, compatible, parts);
    } else {
      parts.push_back({{character.code, i, end}, 0});
    }
    i = end;
  }
  return parts;
}

// Sorts marks after a starter by class; equal classes keep their order.
void reorder(std::vector<Part>& parts) {
  for (auto begin = parts.begin(); begin != parts.end();) {
    if (begin->combining_class == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, parts.end(),
                                  [](const Part& part) { return part.combining_class == 0; });
    std::stable_sort(begin, end, [](const Part& a, const Part& b) {
      return a.combining_class < b.combining_class;
    });
    begin = end;
  }
}

// The composition of two characters; 0 if there is none.
char32_t composition(char32_t first, char32_t second) {
  if (second < 0x300) return 0;  // no smaller character is the second half of a pair
  std::array<utf8proc_int32_t, 2> codes = {static_cast<utf8proc_int32_t>(first),
                                           static_cast<utf8proc_int32_t>(second)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return utf8proc_normalize_utf32(codes.data(), 2, options) == 1 ? static_cast<char32_t>(codes[0])
                                                                 : 0;
}

// UAX 15, canonical composition: a character joins the last starter unless one between them has its
// class or a higher one.
void compose(std::vector<Part>& parts) {
  std::size_t kept = 0;
  std::size_t starter = parts.size();
  int last_class = -1;  // of the characters after the starter; -1: none
  for (const Part& part : std::vector<Part>(parts)) {
    if (starter < kept && last_class < part.combining_class) {
      FormedCharacter& first = parts[starter].character;
      if (const char32_t code = composition(first.code, part.character.code); code != 0) {
        first = {code, std::min(first.begin, part.character.begin),
                 std::max(first.end, part.character.end)};
        continue;
      }
    }
    if (part.combining_class == 0) starter = kept;
    last_class = part.combining_class == 0 ? -1 : part.combining_class;
    parts[kept++] = part;
  }
  parts.resize(kept);
}

}  // namespace

bool is_plainly_normal(std::string_view text, NormalForm form) {
  // Below U+0300 nothing composes or moves, and below U+00A0 nothing has a compatibility form.
  const unsigned char limit = form.composed && !form.compatible ? 0xCC : 0x80;
  return std::ranges::all_of(text, [limit](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte < limit;
  });
}

std::vector<FormedCharacter> normal_form(std::string_view text, NormalForm form) {
  std::vector<Part> parts = decomposed(text, form.compatible);
  reorder(parts);
  if (form.composed) compose(parts);
  std::vector<FormedCharacter> result;
  result.reserve(parts.size());
  for (const Part& part : parts) result.push_back(part.character);
  return result;
}

}  // namespace heed
