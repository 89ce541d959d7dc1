// Everything about the heads of a layer that needs a look at all of their weights.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "heed/inspect/heads.h"
#include "inspect/heads/scored_layer.h"
#include "inspect/map/coarse.h"
#include "inspect/map/margins.h"

namespace heed {

inline constexpr std::int64_t kProfile = 20;  // offsets 0 to 19 back, as the chips draw them

struct HeadStatistics {
  HeadScores scores;
  std::vector<float> profile;  // [kProfile]: mean weight at each offset
  Margins margins;

  const Place& place() const { return scores.place; }
};

/// One entry a head of the layer whose first head is `first`. `check` is called between blocks of
/// rows, on several threads, and may throw; `overview` gets the coarse levels of each head, where
/// the matrix is large enough to have some.
std::vector<HeadStatistics> layer_statistics(const LayerAttention& layer, const Place& first,
                                             const ScoredLayer& known,
                                             const std::function<void()>& check,
                                             const OverviewObserver::Done& overview);

}  // namespace heed
