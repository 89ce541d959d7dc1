// Everything about the heads of a layer that needs a look at all of their weights.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heed/inspect/head_scores.h"
#include "heed/inspect/session.h"
#include "inspect/map/coarse.h"
#include "inspect/map/margins.h"

namespace heed::server {

inline constexpr std::int64_t kProfile = 20;  // offsets 0 to 19 back, as the chips draw them

struct HeadStatistics {
  HeadScores scores;
  double distance = 0;         // mean over rows of sum_j p |i - j|
  std::vector<float> profile;  // [kProfile]: mean weight at each offset
  Margins margins;
};

/// One entry a head. `check` is called between blocks of rows, on several threads, and may throw;
/// `overview` gets the coarse levels of each head, where the text is long enough to have some.
std::vector<HeadStatistics> layer_statistics(const LayerAttention& layer, int index,
                                             const std::function<void()>& check,
                                             const OverviewObserver::Done& overview);

/// A score that the API lists: its name in HEAD objects, a short name for chips, a sentence.
struct ScoreName {
  const char* name;
  const char* label;
  const char* about;
  double (*value)(const HeadStatistics& head);
};
std::vector<ScoreName> score_names(bool causal);

/// `[HEAD,...]`
std::string heads_json(const std::vector<HeadStatistics>& heads, bool causal);

}  // namespace heed::server
