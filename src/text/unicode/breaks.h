// Where words and sentences begin (UAX 29, Unicode 15.0).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace heed {

struct WordBreaks {
  /// Scripts written without spaces: a run of one of them is a word, where UAX 29 assumes a
  /// dictionary. Han only next to Japanese letters: in Chinese each character is a word.
  bool runs_of_scripts = true;
};

/// The offsets of word boundaries by UAX 29: starts with 0, excludes the text's end. An invalid
/// byte counts as a character.
std::vector<std::size_t> word_boundaries(std::string_view text, WordBreaks breaks = {});

/// The offsets where sentences begin, starting with 0. Sentences end as in UAX 29, with closing
/// quotes and brackets and the following spaces; a full stop does not end one before a number, a
/// letter, or a small letter after spaces. A line end ends a sentence.
std::vector<std::size_t> sentence_boundaries(std::string_view text);

}  // namespace heed
