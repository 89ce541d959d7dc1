// Byte-pair merges by rank (Sennrich, Haddow, Birch 2016, algorithm 1).
#pragma once

#include <cstdint>
#include <vector>

#include "heed/tokenizer.h"
#include "text/flat_map.h"

namespace heed {

/// A part of a word: an id and its bytes [begin, end) of the word.
struct Symbol {
  TokenId id = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

class Merges {
 public:
  /// A pair that is added twice keeps its last rank.
  void add(TokenId left, TokenId right, std::int32_t rank, TokenId result) {
    merges_[key(left, right)] = {.rank = rank, .result = result};
  }

  /// Merges the pair of lowest rank, leftmost first, until none is left: n log n for a word of n
  /// symbols.
  void apply(std::vector<Symbol>& word) const;

 private:
  struct Merge {
    std::int32_t rank = 0;
    TokenId result = 0;
  };
  struct Candidate;
  class LongWord;

  static std::uint64_t key(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
  }
  const Merge* find(TokenId left, TokenId right) const { return merges_.find(key(left, right)); }
  void apply_to_short(std::vector<Symbol>& word) const;

  FlatMap<Merge> merges_;
};

}  // namespace heed
