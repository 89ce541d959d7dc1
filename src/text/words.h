// GPT-2's pre-tokeniser: where merges may not cross. Equal to the pattern
// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
#pragma once

#include <cstddef>
#include <string_view>

namespace heed {

/// The end of the word that begins at `begin` < text.size(). `text` must be valid UTF-8.
std::size_t word_end(std::string_view text, std::size_t begin);

}  // namespace heed
