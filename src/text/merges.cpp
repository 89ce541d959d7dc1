#include "text/merges.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace heed {
namespace {

std::uint64_t key(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

void Merges::add(TokenId left, TokenId right, std::int32_t rank, TokenId result) {
  merges_.insert_or_assign(key(left, right), Merge{.rank = rank, .result = result});
}

const Merges::Merge* Merges::find(TokenId left, TokenId right) const {
  const auto found = merges_.find(key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

// A merge that was possible when it was queued. It still is when both symbols are as they were.
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

// A word as a linked list: a merged symbol stands at its left half, the right half is dead.
class Merges::Word {
 public:
  Word(const Merges& merges, std::vector<Symbol>& symbols)
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

void Merges::apply(std::vector<Symbol>& word) const {
  if (word.size() > 1) Word(*this, word).merge_all();
}

}  // namespace heed
