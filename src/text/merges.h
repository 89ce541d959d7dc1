// Byte-pair merges by rank (Sennrich, Haddow, Birch 2016, algorithm 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed {

/// A piece of a word: an id and the bytes [begin, end) that it stands for.
struct Symbol {
  TokenId id = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

class Merges {
 public:
  /// A pair that is added twice keeps its last rank.
  void add(TokenId left, TokenId right, std::int32_t rank, TokenId result);

  /// Merges the pair of lowest rank, the leftmost first, until none is left: n log n for a word of
  /// n symbols.
  void apply(std::vector<Symbol>& word) const;

 private:
  struct Merge {
    std::int32_t rank = 0;
    TokenId result = 0;
  };
  struct Candidate;
  class Word;

  const Merge* find(TokenId left, TokenId right) const;
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace heed
