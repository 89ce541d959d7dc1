// What is asked of heads beyond their scores on the text.
#include "inspect/answers/questions.h"

namespace heed {

LateScoresAnswer answer_late(LiveSession& session, const Place& place, ScoreFrom from,
                             Cancel& cancel) {
  return {place, session.late().values(place, from, cancel)};
}

EvidenceAnswer answer_evidence(LiveSession& session, const EvidenceRequest& request,
                               std::optional<Place> against, Cancel& cancel) {
  EvidenceAnswer answer{.evidence = head_evidence(session.late(), request, cancel)};
  if (!against || answer.evidence.profile.empty()) return answer;
  EvidenceRequest other = request;
  other.place = *against;
  answer.runner_up = {*against, head_evidence(session.late(), other, cancel).profile};
  return answer;
}

SimilarAnswer answer_similar(const LiveSession& session, Stack stack, const PatternExample& example,
                             Cancel& cancel) {
  SimilarAnswer answer;
  for (const SimilarHead& head : similar_heads(session.session(), stack, example, cancel))
    answer.heads.push_back({head});
  return answer;
}

}  // namespace heed
