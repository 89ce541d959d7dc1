// Direct logit attribution (Elhage et al. 2021): what a head's output at a position adds to the
// logit of the word that came there, through the norms behind it, held still.
#include "inspect/heads/late_scores.h"
#include "inspect/heads/scores.h"

namespace heed {

const LateRows& direct_rows(LateScores& late, const Place& place) { return late.direct(place); }

}  // namespace heed
