// How much of a row goes to what followed its token elsewhere: an induction head's share (Olsson et
// al. 2022), here on the text itself. The token that follows the row is no evidence of it.
#include "inspect/heads/key_sets.h"

namespace heed {

ScoreObserverPointer induction_score(const ScoredLayer& layer) {
  if (layer.kinds.empty()) return nullptr;
  KeySets sets{.lists = places_of(layer.kinds), .list_of = layer.kinds, .with_next = false};
  const auto length = static_cast<std::int32_t>(layer.kinds.size());
  for (std::vector<std::int32_t>& followers : sets.lists) {
    for (std::int32_t& place : followers) ++place;
    if (followers.back() == length) followers.pop_back();  // nothing follows the last token
  }
  return key_set_score(std::move(sets));
}

}  // namespace heed
