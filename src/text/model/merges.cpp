#include "text/model/merges.h"

#include <array>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

namespace heed {
// A merge that was possible when queued. It still is if both symbols are unchanged.
struct Merges::Candidate {
  std::int32_t rank = 0;
  std::int32_t position = 0;
  TokenId left = 0;
  TokenId right = 0;
  TokenId result = 0;

  bool operator>(const Candidate& other) const {
    return std::tie(rank, position) > std::tie(other.rank, other.position);
  }
};

// A word as a linked list: a merge replaces its left symbol and removes the right one.
class Merges::LongWord {
 public:
  LongWord(const Merges& merges, std::vector<Symbol>& symbols)
      : merges_(merges), symbols_(symbols), links_(symbols.size()) {
    const auto count = static_cast<std::int32_t>(symbols.size());
    for (std::int32_t i = 0; i < count; ++i) link(i) = {i - 1, i + 1 < count ? i + 1 : -1};
    for (std::int32_t i = 0; i + 1 < count; ++i) queue_pair(i);
  }

  void merge_all() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      if (is_alive(best)) merge(best);
    }
    std::size_t kept = 0;
    for (std::int32_t i = 0; i >= 0; i = link(i).next) symbols_[kept++] = symbol(i);
    symbols_.resize(kept);
  }

 private:
  struct Link {
    std::int32_t previous = -1;
    std::int32_t next = -1;
  };
  static constexpr TokenId kDead = -1;

  Link& link(std::int32_t i) { return links_[static_cast<std::size_t>(i)]; }
  Symbol& symbol(std::int32_t i) { return symbols_[static_cast<std::size_t>(i)]; }

  void queue_pair(std::int32_t position) {
    const TokenId left = symbol(position).id;
    const TokenId right = symbol(link(position).next).id;
    if (const Merge* merge = merges_.find(left, right))
      queue_.push({merge->rank, position, left, right, merge->result});
  }
  bool is_alive(const Candidate& candidate) {
    const std::int32_t next = link(candidate.position).next;
    return symbol(candidate.position).id == candidate.left && next >= 0 &&
           symbol(next).id == candidate.right;
  }
  void merge(const Candidate& candidate) {
    const std::int32_t position = candidate.position;
    const std::int32_t dead = link(position).next;
    symbol(position).id = candidate.result;
    symbol(position).end = symbol(dead).end;
    symbol(dead).id = kDead;
    link(position).next = link(dead).next;
    if (const std::int32_t next = link(position).next; next >= 0) {
      link(next).previous = position;
      queue_pair(position);
    }
    if (const std::int32_t previous = link(position).previous; previous >= 0) queue_pair(previous);
  }

  const Merges& merges_;
  std::vector<Symbol>& symbols_;
  std::vector<Link> links_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
};

namespace {
constexpr std::size_t kShort = 48;  // symbols; up to here scanning for each merge beats a queue
}

// Keeps the merge of each adjacent pair, and scans all for the lowest rank.
void Merges::apply_to_short(std::vector<Symbol>& word) const {
  constexpr Merge kNone = {.rank = std::numeric_limits<std::int32_t>::max(), .result = -1};
  std::array<Merge, kShort> pairs;  // of symbol i and the next one
  const auto merge_at = [&](std::size_t i) {
    const Merge* merge = find(word[i].id, word[i + 1].id);
    pairs[i] = merge == nullptr ? kNone : *merge;
  };
  std::size_t count = word.size();
  for (std::size_t i = 0; i + 1 < count; ++i) merge_at(i);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i)
      if (pairs[i].rank < pairs[best].rank) best = i;
    if (pairs[best].result < 0) break;
    word[best] = {.id = pairs[best].result, .begin = word[best].begin, .end = word[best + 1].end};
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      word[i] = word[i + 1];
      pairs[i] = pairs[i + 1];
    }
    --count;
    if (best > 0) merge_at(best - 1);
    if (best + 1 < count) merge_at(best);
  }
  word.resize(count);
}

void Merges::apply(std::vector<Symbol>& word) const {
  if (word.size() < 2) return;
  if (word.size() <= kShort) return apply_to_short(word);
  LongWord(*this, word).merge_all();
}

}  // namespace heed
