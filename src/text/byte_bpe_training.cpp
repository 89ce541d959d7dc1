// Learning merges: the most frequent pair, again and again, with counts that are kept up to date.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "heed/base/error.h"
#include "text/byte_alphabet.h"
#include "text/byte_bpe.h"
#include "text/learned_specials.h"
#include "text/pipeline/added_tokens.h"
#include "text/pipeline/words.h"
#include "text/pipeline_tokenizer.h"
#include "text/utf8.h"

namespace heed {
namespace {

constexpr std::int64_t kLeastCount = 2;  // a pair that occurs once is no regularity

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

class MergeLearner {
 public:
  explicit MergeLearner(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {
    for (std::size_t id = 0; id < pieces_.size(); ++id)
      ids_.emplace(pieces_[id], static_cast<TokenId>(id));
  }

  void add_word(std::string_view word, std::int64_t count) {
    std::vector<TokenId> symbols;
    for (const char byte : word)
      symbols.push_back(ids_.at(byte_characters()[static_cast<unsigned char>(byte)]));
    const auto index = static_cast<std::uint32_t>(words_.size());
    words_.push_back({std::move(symbols), count});
    const auto& placed = words_.back().symbols;
    for (std::size_t i = 0; i + 1 < placed.size(); ++i)
      change({placed[i], placed[i + 1]}, count, index);
  }

  // Until the vocabulary has `size` pieces or no pair repeats.
  void learn(std::size_t size) {
    for (const auto& [pair, use] : uses_) queue_.push({use.count, pair});
    while (pieces_.size() < size && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const std::int64_t count = uses_[best.pair].count;
      if (count < kLeastCount) continue;
      if (count == best.count) {
        merge(best.pair);
      } else {
        queue_.push({count, best.pair});
      }
    }
  }

  const std::vector<std::string>& pieces() const { return pieces_; }
  const std::vector<std::string>& merges() const { return merges_; }

 private:
  struct Word {
    std::vector<TokenId> symbols;
    std::int64_t count = 0;
  };

  void change(const Pair& pair, std::int64_t by, std::uint32_t word) {
    PairUse& use = uses_[pair];
    use.count += by;
    if (by <= 0) return;
    if (use.words.empty() || use.words.back() != word) use.words.push_back(word);
  }

  // The joint piece; two different pairs may spell the same one.
  TokenId piece_of(const Pair& pair) {
    const std::string& left = pieces_[static_cast<std::size_t>(pair.first)];
    const std::string& right = pieces_[static_cast<std::size_t>(pair.second)];
    merges_.push_back(left + ' ' + right);
    const auto [entry, is_new] = ids_.emplace(left + right, static_cast<TokenId>(pieces_.size()));
    if (is_new) pieces_.push_back(entry->first);
    return entry->second;
  }

  void merge(const Pair& pair) {
    const TokenId result = piece_of(pair);
    std::vector<std::uint32_t> words = std::move(uses_[pair].words);
    std::ranges::sort(words);
    words.erase(std::ranges::unique(words).begin(), words.end());
    grown_.clear();
    for (const std::uint32_t word : words) merge_in(word, pair, result);
    uses_.erase(pair);
    std::ranges::sort(grown_);
    grown_.erase(std::ranges::unique(grown_).begin(), grown_.end());
    for (const Pair& grown : grown_)
      if (const auto use = uses_.find(grown);
          use != uses_.end() && use->second.count >= kLeastCount)
        queue_.push({use->second.count, grown});
  }

  void merge_in(std::uint32_t index, const Pair& pair, TokenId result) {
    Word& word = words_[index];
    std::vector<TokenId>& symbols = word.symbols;
    const auto grow = [&](const Pair& grown) {
      change(grown, word.count, index);
      grown_.push_back(grown);
    };
    std::size_t kept = 0;  // symbols before it are done, from `i` on they are as they were
    for (std::size_t i = 0; i < symbols.size(); ++kept) {
      if (i + 1 == symbols.size() || Pair(symbols[i], symbols[i + 1]) != pair) {
        symbols[kept] = symbols[i++];
        continue;
      }
      if (kept > 0) {
        change({symbols[kept - 1], pair.first}, -word.count, index);
        grow({symbols[kept - 1], result});
      }
      i += 2;
      if (i < symbols.size()) {
        change({pair.second, symbols[i]}, -word.count, index);
        grow({result, symbols[i]});
      }
      symbols[kept] = result;
    }
    symbols.resize(kept);
  }

  std::vector<std::string> pieces_;
  std::vector<std::string> merges_;
  std::unordered_map<std::string, TokenId> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, PairUse, PairHash> uses_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> grown_;  // whose count a merge has raised
};

// How often each word stands in the text, between special tokens.
std::vector<std::pair<std::string_view, std::int64_t>> count_words(std::string_view text,
                                                                   const AddedTokens& special) {
  std::unordered_map<std::string_view, std::int64_t> counts;
  for (const Segment& segment : special.split({.text = text})) {
    if (segment.id >= 0) continue;
    const std::string_view part = segment.piece.text;
    for (std::size_t begin = 0; begin < part.size();) {
      const std::size_t end = gpt2_word_end(part, begin);
      ++counts[part.substr(begin, end - begin)];
      begin = end;
    }
  }
  std::vector<std::pair<std::string_view, std::int64_t>> words(counts.begin(), counts.end());
  std::ranges::sort(words);
  return words;
}

// Special tokens have the first ids.
std::vector<AddedToken> special_tokens(const ByteBpeTraining& training) {
  std::vector<AddedToken> special;
  for (const std::string& content : training.special_tokens) {
    const bool is_new = std::ranges::find(special, content, &AddedToken::content) == special.end();
    if (content.empty() || !is_new)
      fail({.op = "tokenizer",
            .argument = "special_tokens",
            .found = content.empty() ? "a list with an empty one"
                                     : fmt::format("a list with '{}' twice", content),
            .expected = "texts that differ"});
    special.push_back(
        {.content = content, .id = static_cast<TokenId>(special.size()), .special = true});
  }
  return special;
}

}  // namespace

std::unique_ptr<Tokenizer> train_byte_bpe(std::string_view text, const ByteBpeTraining& training) {
  require_utf8(text);
  const std::vector<AddedToken> special = special_tokens(training);
  std::vector<std::string> pieces = training.special_tokens;
  std::vector<std::string> bytes(byte_characters().begin(), byte_characters().end());
  std::ranges::sort(bytes);  // by code point, as UTF-8 sorts
  pieces.insert(pieces.end(), bytes.begin(), bytes.end());
  if (training.vocabulary_size < static_cast<std::int64_t>(pieces.size()))
    fail({.op = "tokenizer",
          .argument = "vocabulary_size",
          .found = training.vocabulary_size,
          .expected = fmt::format("at least {}: {} special tokens and 256 bytes", pieces.size(),
                                  special.size())});
  MergeLearner learner(std::move(pieces));
  for (const auto& [word, count] : count_words(text, AddedTokens(special)))
    learner.add_word(word, count);
  learner.learn(static_cast<std::size_t>(training.vocabulary_size));
  const LearnedSpecials frame = {training.special_tokens, training.begin, training.end};
  return read_tokenizer(
      TokenizerFile("byte-level BPE", byte_bpe_json({.pieces = learner.pieces(),
                                                     .merges = learner.merges(),
                                                     .added_tokens = special,
                                                     .post_processor = frame.post_processor()})));
}

}  // namespace heed
