// How much of a row goes to what followed its token elsewhere: an induction head's share (Olsson et
// al. 2022), here on the text itself. The token that follows the row is no evidence of it.
#include "inspect/heads/key_sets.h"

namespace heed {

ScoreObserverPointer induction_score(const ScoredLayer& layer) {
  if (layer.kinds.empty()) return nullptr;
  return key_set_score(
      {.lists = places_of(layer.kinds, /*behind=*/1), .list_of = layer.kinds, .with_next = false});
}

}  // namespace heed
