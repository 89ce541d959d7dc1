#include "text/merge_learner.h"

#include <algorithm>

namespace heed {
namespace {

constexpr std::int64_t kLeastCount = 2;  // a pair that occurs once is not a pattern

}  // namespace

MergeLearner::MergeLearner(std::vector<std::string> pieces, std::string continuation)
    : continuation_(std::move(continuation)), pieces_(std::move(pieces)) {
  for (std::size_t id = 0; id < pieces_.size(); ++id)
    ids_.emplace(pieces_[id], static_cast<TokenId>(id));
}

void MergeLearner::add_word(std::span<const std::string> symbols, std::int64_t count) {
  const auto index = static_cast<std::uint32_t>(words_.size());
  Word& word = words_.emplace_back();
  word.count = count;
  for (const std::string& symbol : symbols) word.symbols.push_back(ids_.at(symbol));
  for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i)
    change({word.symbols[i], word.symbols[i + 1]}, count, index);
}

void MergeLearner::learn(std::size_t size) {
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

void MergeLearner::change(const Pair& pair, std::int64_t by, std::uint32_t word) {
  PairUse& use = uses_[pair];
  use.count += by;
  if (by <= 0) return;
  if (use.words.empty() || use.words.back() != word) use.words.push_back(word);
}

// The joint piece; two different pairs may spell the same one.
TokenId MergeLearner::piece_of(const Pair& pair) {
  const std::string& left = pieces_[static_cast<std::size_t>(pair.first)];
  const std::string& right = pieces_[static_cast<std::size_t>(pair.second)];
  merges_.push_back(left + ' ' + right);
  const bool continues = !continuation_.empty() && right.starts_with(continuation_);
  const std::string joint = left + right.substr(continues ? continuation_.size() : 0);
  const auto [entry, is_new] = ids_.emplace(joint, static_cast<TokenId>(pieces_.size()));
  if (is_new) pieces_.push_back(entry->first);
  return entry->second;
}

void MergeLearner::merge(const Pair& pair) {
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
    if (const auto use = uses_.find(grown); use != uses_.end() && use->second.count >= kLeastCount)
      queue_.push({use->second.count, grown});
}

void MergeLearner::merge_in(std::uint32_t index, const Pair& pair, TokenId result) {
  Word& word = words_[index];
  std::vector<TokenId>& symbols = word.symbols;
  const auto grow = [&](const Pair& grown) {
    change(grown, word.count, index);
    grown_.push_back(grown);
  };
  std::size_t kept = 0;  // symbols before it are done; from `i` on they are unchanged
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

}  // namespace heed
