// How much of a row goes to the other pieces of its own word.
#include "inspect/heads/key_sets.h"

namespace heed {

ScoreObserverPointer same_word_score(const ScoredLayer& layer) {
  if (layer.words.empty()) return nullptr;
  return key_set_score({.lists = places_of(layer.words), .list_of = layer.words});
}

}  // namespace heed
