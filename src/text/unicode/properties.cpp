#include "text/unicode/properties.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "text/unicode/newer_characters.h"
#include "text/utf8.h"

namespace heed {
namespace {

constexpr std::size_t kTabled = 0x10000;  // the basic plane: 64 kB, made in 0.3 ms

bool has_white_space(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

utf8proc_category_t category_of(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

// By category, in utf8proc's order: Cn, Lu, Ll, Lt, Lm, Lo, Mn, Mc, Me, Nd, Nl, No, Pc, Pd, Ps, Pe,
// Pi, Pf, Po, Sm, Sc, Sk, So, Zs, Zl, Zp, Cc, Cf, Cs, Co.
constexpr std::array<std::uint8_t, UTF8PROC_CATEGORY_CO + 1> kTraits = {0,
                                                                        kLetter,
                                                                        kLetter | kLower,
                                                                        kLetter,
                                                                        kLetter,
                                                                        kLetter,
                                                                        kMark,
                                                                        kMark,
                                                                        kMark,
                                                                        kNumber,
                                                                        kNumber,
                                                                        kNumber,
                                                                        kPunctuation,
                                                                        kPunctuation,
                                                                        kPunctuation,
                                                                        kPunctuation,
                                                                        kPunctuation,
                                                                        kPunctuation,
                                                                        kPunctuation,
                                                                        0,
                                                                        0,
                                                                        0,
                                                                        0,
                                                                        0,
                                                                        0,
                                                                        0,
                                                                        kHidden,
                                                                        kHidden,
                                                                        kHidden,
                                                                        kHidden};

std::uint8_t look_up(char32_t code) {
  const auto category = static_cast<std::size_t>(category_of(code));
  return static_cast<std::uint8_t>(kTraits[category] | (has_white_space(code) ? kSpace : 0));
}

}  // namespace

std::size_t general_category(char32_t code) { return static_cast<std::size_t>(category_of(code)); }

std::uint8_t traits_of(char32_t code) {
  static const auto table = [] {
    std::array<std::uint8_t, kTabled> traits;
    for (std::size_t i = 0; i < kTabled; ++i) traits[i] = look_up(static_cast<char32_t>(i));
    return traits;
  }();
  return code < kTabled ? table[code] : look_up(code);
}

bool is_word_character(char32_t code) {
  if ((traits_of(code) & (kLetter | kMark)) != 0) return true;
  const utf8proc_category_t category = category_of(code);
  // Alphabetic beyond letters and marks: letter numbers, and circled and squared letters.
  const bool other_alphabetic =
      (code >= 0x24B6 && code <= 0x24E9) || (code >= 0x1F130 && code <= 0x1F149) ||
      (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189);
  const bool joins = code == 0x200C || code == 0x200D;
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_PC || other_alphabetic || joins;
}

bool is_nonspacing_mark(char32_t code) {
  return (traits_of(code) & kMark) != 0 && category_of(code) == UTF8PROC_CATEGORY_MN;
}

LowerCase lower_case(char32_t code) {
  if (code == 0x130) return {{'i', 0x307}, 2};  // the only one whose lower case has two characters
  return {{static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)))}, 1};
}

int terminal_cells(char32_t code) {
  const utf8proc_category_t category = category_of(code);
  if (category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
      category == UTF8PROC_CATEGORY_CF)
    return 0;
  return utf8proc_charwidth(static_cast<utf8proc_int32_t>(code)) == 2 ? 2 : 1;
}

std::size_t grapheme_end(std::string_view text, std::size_t begin) {
  utf8proc_int32_t state = 0;
  Character before = character_at(text, begin);
  std::size_t end = begin + before.bytes;
  while (end < text.size()) {
    const Character next = character_at(text, end);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before.code),
                                         static_cast<utf8proc_int32_t>(next.code), &state))
      break;
    end += next.bytes;
    before = next;
  }
  return end;
}

namespace {

bool came_after(char32_t code, int version) {
  if (code < kNewerCharacters[0].first) return false;
  const auto* range = std::ranges::lower_bound(kNewerCharacters, code, {}, &NewerCharacters::last);
  return range != std::end(kNewerCharacters) && code >= range->first && range->version > version;
}

constexpr int kCategoryVersion = 8;  // Unicode version of each table
constexpr int kNormalForms = 9;

}  // namespace

bool is_library_punctuation(char32_t code) {
  if (code < 0x80)
    return (code >= 0x21 && code <= 0x2F) || (code >= 0x3A && code <= 0x40) ||
           (code >= 0x5B && code <= 0x60) || (code >= 0x7B && code <= 0x7E);
  if (code == 0x166D || code == 0x111C9) return true;  // So and Mn since 12.0 and 11.0
  return (traits_of(code) & kPunctuation) != 0 && !came_after(code, kCategoryVersion);
}

bool is_library_accent(char32_t code) {
  if (code == 0x1734) return true;  // Mc since 14.0
  const bool became = code == 0x1885 || code == 0x1886 || code == 0xA9BD || code == 0x111C9;
  return !became && is_nonspacing_mark(code) && !came_after(code, kCategoryVersion);
}

bool is_library_mark(char32_t code) {
  if (code == 0x1CF2 || code == 0x1CF3) return true;  // Lo since 12.0
  return code != 0x111C9 && is_mark(code) && !came_after(code, kNormalForms);
}

bool is_library_hidden(char32_t code) {
  return (traits_of(code) & kHidden) != 0 && !came_after(code, kCategoryVersion);
}

bool is_library_formed(char32_t code) { return !came_after(code, kNormalForms); }

}  // namespace heed
