// SentencePiece's compiled normalisation rules: a trie from byte strings to what replaces them, in
// the form of Darts-clone (Yata 2008, double arrays).
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

  /// A little-endian 32-bit size of the trie in bytes, the trie, and the replacements, each ended
  /// by a zero byte. None where the sizes cannot be; no content makes a look-up leave the blob.
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
