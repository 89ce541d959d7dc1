// Scores that say how much of a row goes to a set of keys that its token names.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/heads/row_scores.h"

namespace heed {

/// The keys that count for a row: those of its list, never the row itself.
struct KeySets {
  std::vector<std::vector<std::int32_t>> lists;  // each rising
  std::vector<std::int32_t> list_of;             // by row
  bool with_next = true;                         // whether the key after the row counts
};

/// The mean, over the rows that see such a key, of the sum of their weights.
ScoreObserverPointer key_set_score(KeySets sets);

/// Where each kind of token stands.
std::vector<std::vector<std::int32_t>> places_of(const std::vector<std::int32_t>& kinds);

}  // namespace heed
