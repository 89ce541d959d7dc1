#include "text/vocabulary_tokenizer.h"

#include <fmt/format.h>

#include "text/utf8.h"

namespace heed {

VocabularyTokenizer::VocabularyTokenizer(const TokenizerFile& file,
                                         std::string (*bytes_of)(std::string_view piece))
    : vocabulary_(file.vocabulary()),
      added_(file.added_tokens()),
      frame_(file.frame()),
      special_(vocabulary_.pieces.size()),
      json_(file.text()) {
  for (const std::string& piece : vocabulary_.pieces) bytes_.push_back(bytes_of(piece));
  for (const AddedToken& token : added_.tokens()) {
    bytes_[static_cast<std::size_t>(token.id)] = token.content;
    special_[static_cast<std::size_t>(token.id)] = token.special;
  }
  for (const std::vector<TokenId>* ids : {&frame_.before, &frame_.after})
    for (const TokenId id : *ids)
      if (id < 0 || id >= vocabulary_size())
        fail({.code = ErrorCode::kCorrupt,
              .file = file.name(),
              .argument = "an id of post_processor",
              .found = id,
              .expected = fmt::format("one below the {} of the vocabulary", vocabulary_size())});
}

Encoding VocabularyTokenizer::encode(std::string_view text, bool add_special) const {
  require_utf8(text);
  Encoding out;
  const auto append = [&](TokenId id, std::int64_t begin, std::int64_t end) {
    out.ids.push_back(id);
    out.spans.push_back({begin, end});
  };
  const auto size = static_cast<std::int64_t>(text.size());
  if (add_special)
    for (const TokenId id : frame_.before) append(id, 0, 0);
  for (const auto& [begin, end, id] : added_.split(text)) {
    if (id >= 0) {
      append(id, begin, end);
    } else {
      encode_segment(
          text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
          begin, out);
    }
  }
  if (add_special)
    for (const TokenId id : frame_.after) append(id, size, size);
  return out;
}

std::size_t VocabularyTokenizer::checked(TokenId id) const {
  const bool known = id >= 0 && id < vocabulary_size() &&
                     !vocabulary_.pieces[static_cast<std::size_t>(id)].empty();
  if (!known)
    fail({.op = "tokenizer",
          .argument = "id",
          .found = id,
          .expected = fmt::format("one of the vocabulary of {}", vocabulary_size())});
  return static_cast<std::size_t>(id);
}

std::string VocabularyTokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string text;
  for (const TokenId id : ids) {
    const std::size_t index = checked(id);
    if (!(skip_special && special_[index])) text += bytes_[index];
  }
  return text;
}

std::string VocabularyTokenizer::token_bytes(TokenId id) const { return bytes_[checked(id)]; }

bool VocabularyTokenizer::is_special(TokenId id) const { return special_[checked(id)]; }

}  // namespace heed
