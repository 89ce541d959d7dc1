// The patterns with which `Split` and `Replace` search a text: a string or a regular expression.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"

namespace heed {

/// The word patterns of GPT-2, of GPT-4 and Llama 3, of Qwen 2, and of GPT-4o.
inline constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kGpt4Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kGpt4oWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The bytes [begin, end), begin < end, of a text.
struct PatternMatch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// All non-overlapping matches in a text, from left to right. The text must be valid UTF-8.
using Pattern = std::function<std::vector<PatternMatch>(std::string_view text)>;

/// Reads `{"String": ...}` or `{"Regex": ...}`, the file's member `argument`. Throws for an
/// unsupported regular expression.
Pattern read_pattern(const TokenizerFile& file, const Json& value, std::string_view argument);

/// The end of the white space that begins at `begin`, at most `end`.
std::size_t skip_spaces(std::string_view text, std::size_t begin, std::size_t end);
/// The beginning of the white space that ends at `end`, at least `first`.
std::size_t spaces_before(std::string_view text, std::size_t first, std::size_t end);

/// Puts `prefix` before the nonempty piece, with the origin of its first character, like the
/// `tokenizers` library.
Piece prepended(const Piece& piece, std::string_view prefix, Arena& arena);

/// A regular expression in Oniguruma's syntax. Throws `UnreadRegex` if PCRE2 does not know it or
/// reads it in another way, or if it may match nothing. A search that exceeds PCRE2's limits
/// throws.
Pattern read_regex(std::string_view regex);

struct UnreadRegex {
  std::string construct;  // that is not read
};

}  // namespace heed
