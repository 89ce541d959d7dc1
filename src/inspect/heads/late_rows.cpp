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

// What a text loses without a head: the rise of the loss when the head gives 0.
const LateRows& ablation_rows(LateScores& late, const Place& place) {
  return late.losses_without(place);
}

// Direct logit attribution (Elhage et al. 2021): what a head's output at a position adds to the
// logit of the word that came there, through the norms behind it, held still.
const LateRows& direct_rows(LateScores& late, const Place& place) { return late.direct(place); }

// What a head does on random tokens that come twice: nothing but the repetition tells it where to
// look (Olsson et al. 2022).
double probe_induction_score(LateScores& late, const Place& place) {
  return of_probe(late, place, &ProbedHead::induction);
}

double probe_duplicate_score(LateScores& late, const Place& place) {
  return of_probe(late, place, &ProbedHead::duplicate);
}

}  // namespace heed
