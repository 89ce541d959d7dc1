#include "inspect/session/session_input.h"

#include <algorithm>

#include "heed/text/tokenizer.h"

namespace heed {

std::int64_t pair_split(std::span<const SessionToken> tokens) {
  const auto second = std::ranges::find(tokens, 1, &SessionToken::text);
  if (second != tokens.end()) return second - tokens.begin();
  return std::max<std::int64_t>(0, std::ssize(tokens) - 1);
}

bool is_special(const Tokenizer* tokenizer, const SessionToken& token) {
  return token.text < 0 || (tokenizer != nullptr && tokenizer->is_special(token.id));
}

std::vector<TokenId> ids_of(std::span<const SessionToken> tokens) {
  std::vector<TokenId> ids;
  for (const SessionToken& token : tokens) ids.push_back(token.id);
  return ids;
}

}  // namespace heed
