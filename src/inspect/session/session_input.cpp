#include "inspect/session/session_input.h"

#include <algorithm>

namespace heed {

std::int64_t pair_split(std::span<const SessionToken> tokens) {
  const auto second = std::ranges::find(tokens, 1, &SessionToken::text);
  if (second != tokens.end()) return second - tokens.begin();
  return std::max<std::int64_t>(0, std::ssize(tokens) - 1);
}

}  // namespace heed
