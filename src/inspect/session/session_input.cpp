#include "inspect/session/session_input.h"

#include <algorithm>

namespace heed {

std::int64_t pair_split(std::span<const SessionToken> tokens) {
  const auto second = std::ranges::find(tokens, 1, &SessionToken::text);
  const std::int64_t last = std::ssize(tokens) - 1;  // an empty text leaves its closing token alone
  return second == tokens.end() ? last : second - tokens.begin();
}

}  // namespace heed
