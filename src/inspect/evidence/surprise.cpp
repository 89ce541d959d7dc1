#include "inspect/evidence/surprise.h"

namespace heed {

std::vector<TokenSurprise> surprises(const Session& session, const LoadedModel& model,
                                     const std::function<void()>& check) {
  require_streams("words", session);
  const std::int64_t behind = session.info.writes() ? 1 : 0;
  std::vector<TokenSurprise> all;
  visit_logits(session.streams.back(), model, 0, std::ssize(session.tokens) - behind, check,
               [&](std::int64_t position, std::span<const float> logits) {
                 const TokenId id = *word_that_came(session, position);
                 all.push_back({position + behind, chance_of(id, logits)});
               });
  return all;
}

}  // namespace heed
