// What a head does on random tokens that come twice: nothing but the repetition tells it where to
// look (Olsson et al. 2022).
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

double probe_induction_score(LateScores& late, const Place& place) {
  return of_probe(late, place, &ProbedHead::induction);
}

double probe_duplicate_score(LateScores& late, const Place& place) {
  return of_probe(late, place, &ProbedHead::duplicate);
}

}  // namespace heed
