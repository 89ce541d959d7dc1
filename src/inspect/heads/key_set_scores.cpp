// Scores of a head by the tokens of its keys, at any distance.
#include "inspect/heads/key_sets.h"

namespace heed {

// How much of a row goes to tokens that followed its token elsewhere: an induction head's share
// (Olsson et al. 2022), here on the text itself. The token after the row does not count as
// evidence.
ScoreObserverPointer induction_score(const ScoredLayer& layer) {
  if (layer.kinds.empty()) return nullptr;
  return key_set_score(
      {.lists = places_of(layer.kinds, /*behind=*/1), .list_of = layer.kinds, .with_next = false});
}

// How much of a row goes to other occurrences of its token: a duplicate-token head's share.
ScoreObserverPointer duplicate_score(const ScoredLayer& layer) {
  if (layer.kinds.empty()) return nullptr;
  return key_set_score({.lists = places_of(layer.kinds), .list_of = layer.kinds});
}

// How much of a row goes to the other pieces of its own word.
ScoreObserverPointer same_word_score(const ScoredLayer& layer) {
  if (layer.words.empty()) return nullptr;
  return key_set_score({.lists = places_of(layer.words), .list_of = layer.words});
}

// How much of a row goes to special tokens past the first, to punctuation and to line ends (Clark
// et al. 2019).
ScoreObserverPointer delimiter_score(const ScoredLayer& layer) {
  if (layer.rows == 0) return nullptr;
  return key_set_score({.lists = {.keys = layer.delimiters,
                                  .ends = {static_cast<std::int32_t>(layer.delimiters.size())}},
                        .list_of = std::vector<std::int32_t>(layer.rows, 0)});
}

}  // namespace heed
