// How much of a row goes to other places of its own token: a duplicate-token head's share.
#include "inspect/heads/key_sets.h"

namespace heed {

ScoreObserverPointer duplicate_score(const ScoredTokens& tokens) {
  if (tokens.kinds.empty()) return nullptr;
  return key_set_score({.lists = places_of(tokens.kinds), .list_of = tokens.kinds});
}

}  // namespace heed
