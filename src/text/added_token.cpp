#include "text/added_token.h"

#include "text/files/config_tokens.h"

namespace heed {

TokenId find_first(const Tokenizer& tokenizer, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const TokenId id = tokenizer.find(name); id >= 0) return id;
  return -1;
}

TokenId mask_token_of(const Tokenizer& tokenizer) {
  return find_first(tokenizer, {"[MASK]", "<mask>"});
}

TokenId pad_token_of(const Tokenizer& tokenizer) {
  return find_first(tokenizer, {"[PAD]", "<pad>"});
}

std::vector<AddedToken> LearnedSpecials::added() const {
  std::vector<AddedToken> all;
  for (const std::string& content : tokens)
    all.push_back({.content = content, .id = static_cast<TokenId>(all.size()), .special = true});
  return all;
}

Json LearnedSpecials::post_processor() const {
  if (begin.empty() && end.empty()) return {};
  Vocabulary vocabulary;
  for (const std::string& content : tokens)
    vocabulary.ids.emplace(content, static_cast<TokenId>(vocabulary.ids.size()));
  return template_json(vocabulary, begin, end);
}

}  // namespace heed
