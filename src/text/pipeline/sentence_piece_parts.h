// SentencePiece's own normaliser and decoder (Kudo and Richardson 2018), which the components of a
// tokenizer.json approximate but do not reproduce exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/pipeline/decoder.h"
#include "text/pipeline/normalizer.h"
#include "text/trie.h"

namespace heed {

/// SentencePiece's compiled normalisation rules: a trie from byte strings to their replacements, in
/// the format of Darts-clone (Yata 2008, double arrays).
class Charsmap {
 public:
  struct Match {
    std::string_view replacement;
    std::size_t bytes = 0;  // of the text
  };

  /// Parses a little-endian 32-bit size of the trie in bytes, the trie, and the zero-terminated
  /// replacements. Empty if the sizes are impossible; look-ups never leave the blob, whatever its
  /// content.
  static std::optional<Charsmap> parse(std::string_view blob);

  std::optional<Match> longest(std::string_view text) const { return match(text, false); }
  std::optional<Match> shortest(std::string_view text) const { return match(text, true); }

 private:
  std::optional<Match> match(std::string_view text, bool first) const;
  std::string_view replacement(std::size_t at) const;

  std::vector<std::uint32_t> trie_;
  std::string replacements_;
};

struct SentencePieceSpaces {
  bool add_prefix = true;  // a mark before the text, or after it
  bool prefix_behind = false;
  bool remove_extra = true;  // at both ends, and after another space
  bool escape = true;        // as marks
};

/// `kept` has symbols that no rule changes. `map` may be empty.
Normalizer sentence_piece_normalizer(std::optional<Charsmap> map, Trie kept,
                                     const SentencePieceSpaces& spaces);

struct SentencePieceSurface {
  std::string unknown;  // this piece, and its text
  std::string unknown_surface;
  std::vector<std::string> control;  // pieces without text
};
Decoder sentence_piece_decoder(SentencePieceSurface surface, const SentencePieceSpaces& spaces);

}  // namespace heed
