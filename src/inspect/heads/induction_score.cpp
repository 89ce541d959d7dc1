// How much of a row goes to what followed its token elsewhere: an induction head's share (Olsson et
// al. 2022), here on the text itself. The token that follows the row is no evidence of it.
#include "inspect/heads/key_sets.h"

namespace heed {

ScoreObserverPointer induction_score(const ScoredTokens& tokens) {
  if (tokens.kinds.empty()) return nullptr;
  KeySets sets{.lists = places_of(tokens.kinds), .list_of = tokens.kinds, .with_next = false};
  const auto length = static_cast<std::int32_t>(tokens.kinds.size());
  for (std::vector<std::int32_t>& followers : sets.lists) {
    for (std::int32_t& place : followers) ++place;
    if (followers.back() == length) followers.pop_back();  // nothing follows the last token
  }
  return key_set_score(std::move(sets));
}

}  // namespace heed
