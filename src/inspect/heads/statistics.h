// Statistics of a layer's heads that need all of their weights.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "heed/look.h"
#include "inspect/heads/scored_layer.h"
#include "inspect/map/coarse.h"
#include "inspect/map/margins.h"

namespace heed {

inline constexpr std::int64_t kProfile = 20;  // offsets 0 to 19 back, as chips show them

struct HeadStatistics {
  HeadScores scores;
  std::vector<float> profile;  // [kProfile]: mean weight at each offset
  Margins margins;

  const Place& place() const { return scores.place; }
};

/// One entry per head of the layer, whose first head is `first`. `check` is called between blocks
/// of rows, on several threads, and may throw; `overview` gets each head's coarse levels, if the
/// matrix is large enough to have any.
std::vector<HeadStatistics> layer_statistics(const LayerAttention& layer, const Place& first,
                                             const ScoredLayer& known,
                                             const std::function<void()>& check,
                                             const OverviewObserver::Done& overview);

}  // namespace heed
