// Unicode 15.0 properties of a character: its general category, as a few bits, and its lower case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heed {

/// Bits of `traits_of`. White space is the property White_Space; the others are general categories.
enum Trait : std::uint8_t {
  kSpace = 1,
  kLetter = 2,        // L*
  kNumber = 4,        // N*
  kMark = 8,          // M*
  kLower = 16,        // Ll, together with kLetter
  kPunctuation = 32,  // P*
  kHidden = 64,       // Cc, Cf, Cs, Co: controls, format, surrogates, private use
};

std::uint8_t traits_of(char32_t code);

/// The general category, 0 to 29: Cn, Lu, Ll, Lt, Lm, Lo, Mn, Mc, Me, Nd, Nl, No, Pc, Pd, Ps, Pe,
/// Pi, Pf, Po, Sm, Sc, Sk, So, Zs, Zl, Zp, Cc, Cf, Cs, Co.
std::size_t general_category(char32_t code);

inline bool is_space(char32_t code) { return (traits_of(code) & kSpace) != 0; }
inline bool is_letter(char32_t code) { return (traits_of(code) & kLetter) != 0; }
inline bool is_number(char32_t code) { return (traits_of(code) & kNumber) != 0; }
inline bool is_mark(char32_t code) { return (traits_of(code) & kMark) != 0; }
/// The \w of regular expressions: letters and other alphabetic characters, marks, decimal digits,
/// connectors.
bool is_word_character(char32_t code);
bool is_nonspacing_mark(char32_t code);  // Mn

/// The classes of the `tokenizers` library, whose tables are of Unicode 8.0 (punctuation, and
/// characters that BERT drops) and 9.0 (normal forms and StripAccents).
bool is_library_punctuation(char32_t code);  // P*, and ASCII's $ + < = > ^ ` | ~
bool is_library_accent(char32_t code);       // Mn
bool is_library_mark(char32_t code);         // M*
bool is_library_hidden(char32_t code);       // Cc, Cf, Cs, Co
bool is_library_formed(char32_t code);       // false: its normal forms are the character itself

/// The lower case of one character, ignoring its neighbours: two characters for U+0130.
struct LowerCase {
  char32_t codes[2] = {};
  int count = 1;
};
LowerCase lower_case(char32_t code);

/// How many terminal cells the character takes: 0, 1 or 2.
int terminal_cells(char32_t code);

/// The end of the extended grapheme cluster that begins at `begin` < text.size(). `text` must be
/// valid UTF-8.
std::size_t grapheme_end(std::string_view text, std::size_t begin);

}  // namespace heed
