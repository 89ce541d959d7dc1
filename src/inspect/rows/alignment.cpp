#include "inspect/rows/alignment.h"

#include <algorithm>

#include "heed/look.h"
#include "inspect/rows/lines.h"

namespace heed {
namespace {

constexpr std::int64_t kMostAligned = 512;  // tokens of either text: compares whole matrices

struct AlignedWord {
  TokenRange range;
  std::string text;
};

bool can_align(const Session& session) {
  return session.key_tokens.empty() && !session.split && std::ssize(session.tokens) <= kMostAligned;
}

// A token of spaces belongs to the next word: tokenizers that know a word join the two.
std::vector<AlignedWord> words_of(const Session& session) {
  const std::vector<std::int64_t> begins = token_units(session.tokens, session.tokenizer).words;
  std::vector<AlignedWord> words;
  for (std::size_t word = 0; word < begins.size(); ++word) {
    const bool is_behind_spaces = !words.empty() && words.back().text.empty();
    if (!is_behind_spaces) words.emplace_back().range.begin = begins[word];
    words.back().range.end = unit_end(begins, word, std::ssize(session.tokens));
    words.back().text = words_text(session, words.back().range);
  }
  return words;
}

void align_pair(const TokenRange& a, const TokenRange& b, std::vector<AlignedTokens>& pairs) {
  if (a.size() != b.size()) return pairs.push_back({a, b});
  for (std::int64_t at = 0; at < a.size(); ++at)
    pairs.push_back({{a.begin + at, a.begin + at + 1}, {b.begin + at, b.begin + at + 1}});
}

TokenRange range_of(std::span<const AlignedWord> words) {
  if (words.empty()) return {};
  return {words.front().range.begin, words.back().range.end};
}

}  // namespace

std::string words_text(const Session& session, const TokenRange& range) {
  constexpr const char* kSpaces = " \t\r\n";
  std::string text;
  for (std::int64_t at = range.begin; at < range.end; ++at)
    text += session.tokens[static_cast<std::size_t>(at)].bytes;
  text.erase(0, text.find_first_not_of(kSpaces));
  text.erase(text.find_last_not_of(kSpaces) + 1);
  return text;
}

Alignment align_words(const Session& a, const Session& b) {
  if (!can_align(a) || !can_align(b)) return {};
  const std::vector<AlignedWord> of_a = words_of(a), of_b = words_of(b);
  const std::size_t least = std::min(of_a.size(), of_b.size());
  std::size_t before = 0, after = 0;
  while (before < least && of_a[before].text == of_b[before].text) ++before;
  while (after < least - before &&
         of_a[of_a.size() - 1 - after].text == of_b[of_b.size() - 1 - after].text)
    ++after;
  const std::size_t middle_a = of_a.size() - before - after;
  const std::size_t middle_b = of_b.size() - before - after;
  const std::size_t from_front = middle_a == middle_b ? before + middle_a : before;
  if (2 * (from_front + after) < std::max(of_a.size(), of_b.size())) return {};
  Alignment alignment;
  for (std::size_t at = 0; at < from_front; ++at)
    align_pair(of_a[at].range, of_b[at].range, alignment.pairs);
  for (std::size_t back = after; back > 0; --back)
    align_pair(of_a[of_a.size() - back].range, of_b[of_b.size() - back].range, alignment.pairs);
  if (middle_a != middle_b)
    alignment.alone = {range_of(std::span(of_a).subspan(before, middle_a)),
                       range_of(std::span(of_b).subspan(before, middle_b))};
  return alignment;
}

}  // namespace heed
