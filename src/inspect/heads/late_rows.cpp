// Scores of a head that need passes of the model: without the head, by its writes, on random
// tokens.
#include <limits>

#include "inspect/heads/late_scores.h"
#include "inspect/heads/scores.h"

namespace heed {
namespace {

double of_probe(LateScores& late, const Place& place, double ProbedHead::* value) {
  const ProbedHead* head = late.probed(place);
  return head != nullptr ? head->*value : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

// The text's loss without a head: the increase when the head outputs 0.
const LateRows& ablation_rows(LateScores& late, const Place& place) {
  return late.losses_without(place);
}

// Direct logit attribution (Elhage et al. 2021): what a head's output at a position adds to the
// logit of the actual word, through the following norms, held fixed.
const LateRows& direct_rows(LateScores& late, const Place& place) { return late.direct(place); }

// A head's behaviour on repeated random tokens, where only the repetition shows where to look
// (Olsson et al. 2022).
double probe_induction_score(LateScores& late, const Place& place) {
  return of_probe(late, place, &ProbedHead::induction);
}

double probe_duplicate_score(LateScores& late, const Place& place) {
  return of_probe(late, place, &ProbedHead::duplicate);
}

}  // namespace heed
