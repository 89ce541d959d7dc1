// How much of a row goes to special tokens past the first, to punctuation and to line ends (Clark
// et al. 2019).
#include "inspect/heads/key_sets.h"

namespace heed {

ScoreObserverPointer delimiter_score(const ScoredLayer& layer) {
  if (layer.rows == 0) return nullptr;
  return key_set_score({.lists = {.keys = layer.delimiters,
                                  .ends = {static_cast<std::int32_t>(layer.delimiters.size())}},
                        .list_of = std::vector<std::int32_t>(layer.rows, 0)});
}

}  // namespace heed
