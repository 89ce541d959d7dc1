// What a text loses without a head: the rise of the mean loss when the head gives 0.
#include <limits>
#include <numeric>

#include "inspect/heads/late_scores.h"
#include "inspect/heads/scores.h"

namespace heed {

double ablation_score(LateScores& late, const Place& place) {
  const LossRises& rises = late.losses_without(place);
  if (rises.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(rises.begin(), rises.end(), 0.0) / static_cast<double>(rises.size());
}

}  // namespace heed
