// The patterns by which `Split` and `Replace` find places in a text: a string, one of the regular
// expressions that published tokenizers use (each written out as a scanner), or a regular
// expression that heed reads.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"

namespace heed {

/// The words of GPT-4 and Llama 3, of Qwen 2, and of GPT-4o.
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

class Pattern {
 public:
  virtual ~Pattern() = default;
  /// All matches, from left to right, which do not overlap. `text` is valid UTF-8.
  virtual std::vector<PatternMatch> matches(std::string_view text) const = 0;
};

/// Of `{"String": ...}` or `{"Regex": ...}`, the member `argument` of the file. Fails for a regular
/// expression that heed does not know.
std::unique_ptr<Pattern> read_pattern(const TokenizerFile& file, const Json& value,
                                      std::string_view argument);

/// The end of the white space that begins at `begin`, at most `end`.
std::size_t skip_spaces(std::string_view text, std::size_t begin, std::size_t end);
/// The begin of the white space that ends at `end`, at least `first`.
std::size_t spaces_before(std::string_view text, std::size_t first, std::size_t end);

/// `prefix` before the piece, standing for the piece's first character, as the `tokenizers` library
/// has it. The piece is not empty.
Piece prepended(const Piece& piece, std::string_view prefix, Arena& arena);

/// A regular expression as Oniguruma reads it: sets of characters, general categories, groups,
/// alternatives, repetitions (greedy, lazy, possessive) and lookahead. Null where it uses something
/// else, may match nothing, or repeats what may be empty.
std::unique_ptr<Pattern> read_regex(std::string_view regex);

}  // namespace heed
