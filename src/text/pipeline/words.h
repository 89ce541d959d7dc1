// The pre-tokenisers of byte-level BPE, whose borders merges may not cross. Each is the regular
// expression of published tokenizers, written as a scanner.
#pragma once

#include <cstddef>
#include <string_view>

namespace heed {

/// The end of the word that begins at `begin` < text.size(); `text` must be valid UTF-8.

/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t gpt2_word_end(std::string_view text, std::size_t begin);

/// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
/// | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
std::size_t llama3_word_end(std::string_view text, std::size_t begin);

/// The same with \p{N}: every digit separately.
std::size_t qwen2_word_end(std::string_view text, std::size_t begin);

/// A word begins where lower case changes to upper case; marks are letters, contractions belong to
/// their word, and a slash may follow signs.
std::size_t gpt4o_word_end(std::string_view text, std::size_t begin);

}  // namespace heed
