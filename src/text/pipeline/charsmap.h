// SentencePiece's compiled normalisation rules: a trie from byte strings to their replacements, in
// the format of Darts-clone (Yata 2008, double arrays).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

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

}  // namespace heed
