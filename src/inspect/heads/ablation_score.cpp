// What a text loses without a head: the rise of the loss when the head gives 0.
#include "inspect/heads/late_scores.h"
#include "inspect/heads/scores.h"

namespace heed {

const LateRows& ablation_rows(LateScores& late, const Place& place) {
  return late.losses_without(place);
}

}  // namespace heed
