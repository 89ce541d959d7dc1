#include "text/added_tokens.h"

#include <unicode/uchar.h>  // IWYU pragma: keep (ICU renames its functions by macros)

#include <algorithm>
#include <functional>
#include <utility>

#include "text/utf8.h"

namespace heed {
namespace {

bool is_space(char32_t code) { return u_isUWhiteSpace(static_cast<UChar32>(code)) != 0; }

std::size_t skip_spaces(std::string_view text, std::size_t begin, std::size_t end) {
  while (begin < end) {
    const Character character = character_at(text, begin);
    if (!is_space(character.code)) break;
    begin += character.bytes;
  }
  return begin;
}

// The begin of the white space that ends at `end`, not before `first`.
std::size_t spaces_before(std::string_view text, std::size_t first, std::size_t end) {
  while (end > first) {
    std::size_t begin = end - 1;
    while (begin > first && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    if (!is_space(character_at(text, begin).code)) break;
    end = begin;
  }
  return end;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::ranges::stable_sort(tokens_, std::greater(),
                           [](const AddedToken& token) { return token.content.size(); });
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    by_first_[static_cast<unsigned char>(tokens_[i].content.front())].push_back(i);
}

const AddedToken* AddedTokens::match(std::string_view text, std::size_t at, bool normalized) const {
  for (const std::size_t i : by_first_[static_cast<unsigned char>(text[at])]) {
    const AddedToken& token = tokens_[i];
    if (token.normalized == normalized && text.substr(at).starts_with(token.content)) return &token;
  }
  return nullptr;
}

void AddedTokens::split_round(std::string_view text, Segment segment, bool normalized,
                              std::vector<Segment>& out) const {
  auto begin = static_cast<std::size_t>(segment.begin);  // of what no token has taken yet
  const auto end = static_cast<std::size_t>(segment.end);
  const auto emit = [&](std::size_t from, std::size_t to, TokenId id) {
    out.push_back({static_cast<std::int64_t>(from), static_cast<std::int64_t>(to), id});
  };
  for (std::size_t at = begin; at < end;) {
    const AddedToken* token = match(text.substr(0, end), at, normalized);
    if (token == nullptr) {
      ++at;
      continue;
    }
    const std::size_t from = token->lstrip ? spaces_before(text, begin, at) : at;
    at += token->content.size();
    const std::size_t to = token->rstrip ? skip_spaces(text, at, end) : at;
    if (from > begin) emit(begin, from, -1);
    emit(from, to, token->id);
    begin = at = to;
  }
  if (begin < end) emit(begin, end, -1);
}

std::vector<Segment> AddedTokens::split(std::string_view text) const {
  std::vector<Segment> segments;
  split_round(text, {0, static_cast<std::int64_t>(text.size())}, false, segments);
  std::vector<Segment> result;
  for (const Segment& segment : segments) {
    if (segment.id >= 0) {
      result.push_back(segment);
    } else {
      split_round(text, segment, true, result);
    }
  }
  return result;
}

}  // namespace heed
