// Learns merges: repeatedly the most frequent pair, with incrementally updated counts (Sennrich et
// al. 2016). Symbols may be bytes or characters of words.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heed/tokenizer.h"

namespace heed {

class MergeLearner {
 public:
  /// The first pieces, by id. `continuation` is the prefix of pieces inside a word (WordPiece:
  /// `##`), which a joint piece has only once.
  explicit MergeLearner(std::vector<std::string> pieces, std::string continuation = {});

  /// Adds a word of the text as known pieces, with its number of occurrences.
  void add_word(std::span<const std::string> symbols, std::int64_t count);

  /// Learns until the vocabulary has `size` pieces or no pair repeats.
  void learn(std::size_t size);

  const std::vector<std::string>& pieces() const { return pieces_; }
  const std::vector<std::string>& merges() const { return merges_; }  // `left right`

 private:
  using Pair = std::pair<TokenId, TokenId>;

  struct PairHash {
    std::size_t operator()(const Pair& pair) const {
      return static_cast<std::size_t>(pair.first) * 0x9E3779B97F4A7C15U +
             static_cast<std::size_t>(pair.second);
    }
  };

  struct PairUse {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // which contained it when counted, ascending
  };

  struct Candidate {
    std::int64_t count = 0;
    Pair pair;

    // Most frequent first, then the smaller ids.
    bool operator<(const Candidate& other) const {
      return std::tie(count, other.pair) < std::tie(other.count, pair);
    }
  };

  struct Word {
    std::vector<TokenId> symbols;
    std::int64_t count = 0;
  };

  void change(const Pair& pair, std::int64_t by, std::uint32_t word);
  TokenId piece_of(const Pair& pair);
  void merge(const Pair& pair);
  void merge_in(std::uint32_t index, const Pair& pair, TokenId result);

  std::string continuation_;
  std::vector<std::string> pieces_;
  std::vector<std::string> merges_;
  std::unordered_map<std::string, TokenId> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, PairUse, PairHash> uses_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> grown_;  // whose count was raised by a merge
};

}  // namespace heed
