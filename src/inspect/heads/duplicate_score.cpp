// How much of a row goes to other places of its own token: a duplicate-token head's share.
#include "inspect/heads/key_sets.h"

namespace heed {

ScoreObserverPointer duplicate_score(const ScoredLayer& layer) {
  if (layer.kinds.empty()) return nullptr;
  return key_set_score({.lists = places_of(layer.kinds), .list_of = layer.kinds});
}

}  // namespace heed
