#include "text/pipeline/added_tokens.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "text/pipeline/pattern.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

bool touches_words(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0 && is_word_character(character_at(text, character_begin(text, begin - 1)).code))
    return true;
  return end < text.size() && is_word_character(character_at(text, end).code);
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  std::ranges::stable_sort(tokens_, std::greater(),
                           [](const AddedToken& token) { return token.content.size(); });
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto first = static_cast<unsigned char>(tokens_[i].content.front());
    by_first_[first].push_back(i);
    begins_[first] = true;
  }
}

const AddedToken* AddedTokens::match(std::string_view text, std::size_t at) const {
  for (const std::size_t i : by_first_[static_cast<unsigned char>(text[at])])
    if (text.substr(at).starts_with(tokens_[i].content)) return &tokens_[i];
  return nullptr;
}

std::vector<Segment> AddedTokens::split(const Piece& piece) const {
  std::vector<Segment> out;
  const std::string_view text = piece.text;
  std::size_t begin = 0;  // of the text that no token has taken yet
  const auto emit = [&](std::size_t from, std::size_t to, TokenId id) {
    if (from < to) out.push_back({piece.slice(from, to), id});
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* token =
        begins_[static_cast<unsigned char>(text[at])] ? match(text, at) : nullptr;
    const std::size_t end = at + (token == nullptr ? 1 : token->content.size());
    if (token == nullptr || (token->single_word && touches_words(text, at, end))) {
      at = end;
      continue;
    }
    // Another token may have taken the spaces at the beginning of this one.
    const std::size_t from =
        token->lstrip ? std::max(spaces_before(text, std::min(begin, at), at), begin) : at;
    const std::size_t to = token->rstrip ? skip_spaces(text, end, text.size()) : end;
    emit(begin, from, -1);
    emit(std::min(from, to), to, token->id);
    begin = to;
    at = end;  // another token may also take the spaces after it, like in `tokenizers`
  }
  emit(begin, text.size(), -1);
  return out;
}

}  // namespace heed
