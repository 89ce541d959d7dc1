// Learning merges: the most frequent pair, again and again, with counts that are kept up to date
// (Sennrich et al. 2016). It does not know what its symbols are: bytes, or characters of words.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed {

class MergeLearner {
 public:
  /// The first pieces, by id. `continuation` is what pieces inside of a word begin with (WordPiece:
  /// `##`), which a joint piece has only once.
  explicit MergeLearner(std::vector<std::string> pieces, std::string continuation = {});

  /// A word of the text as pieces that are known, and how often it occurs.
  void add_word(std::span<const std::string> symbols, std::int64_t count);

  /// Until the vocabulary has `size` pieces or no pair repeats.
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
    std::vector<std::uint32_t> words;  // which held it when it was counted, rising
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
  std::vector<Pair> grown_;  // whose count a merge has raised
};

}  // namespace heed
