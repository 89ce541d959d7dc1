// Where words and sentences begin (UAX 29, Unicode 15.0).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace heed {

struct WordBreaks {
  /// Scripts that write words without spaces: a run of one of them is a word, where UAX 29 has a
  /// dictionary in mind. Han only beside Japanese letters: in Chinese each character is a word.
  bool runs_of_scripts = true;
};

/// The offsets at which UAX 29 divides words: 0 first; the text's end is not among them. A byte
/// that is not valid UTF-8 counts as a character of its own.
std::vector<std::size_t> word_boundaries(std::string_view text, WordBreaks breaks = {});

/// The offsets at which sentences begin, 0 first. Ends are as in UAX 29: what ends a sentence, with
/// the quotes and brackets that close it and the spaces behind it; a full stop is none before a
/// number, a letter or a small letter behind spaces. A line end is one.
std::vector<std::size_t> sentence_boundaries(std::string_view text);

}  // namespace heed
