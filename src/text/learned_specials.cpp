#include "text/learned_specials.h"

#include "text/files/config_tokens.h"

namespace heed {

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
