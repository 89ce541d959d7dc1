// Scores that measure how much of a row goes to a set of keys determined by its token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inspect/heads/row_scores.h"

namespace heed {

/// Lists of ascending keys, concatenated: a text has nearly as many lists as tokens.
struct KeyLists {
  std::vector<std::int32_t> keys;
  std::vector<std::int32_t> ends;  // end of each list

  std::span<const std::int32_t> list(std::int32_t index) const {
    const auto at = static_cast<std::size_t>(index);
    return std::span(keys).subspan(begin(at), static_cast<std::size_t>(ends[at]) - begin(at));
  }

 private:
  std::size_t begin(std::size_t at) const {
    return at == 0 ? 0 : static_cast<std::size_t>(ends[at - 1]);
  }
};

/// The keys that count for a row: those of its list, except the row itself.
struct KeySets {
  KeyLists lists;
  std::vector<std::int32_t> list_of;  // by row
  bool with_next = true;              // whether the key after the row counts
};

/// The mean, over the rows that see such a key, of the sum of their weights on those keys.
ScoreObserverPointer key_set_score(KeySets sets);

/// For each kind of token, the places that are `behind` positions after one; 0: its own places.
KeyLists places_of(const std::vector<std::int32_t>& kinds, std::int32_t behind = 0);

}  // namespace heed
