#include "inspect/evidence/surprise.h"

#include <algorithm>

#include "heed/inspect/next_words.h"

namespace heed {
namespace {

// What no text says: an encoder's frame, and the signs that stand where a word is covered.
bool is_sign(const Session& session, std::span<const std::int64_t> masks, std::int64_t at) {
  return session.tokens[static_cast<std::size_t>(at)].text < 0 ||
         std::ranges::binary_search(masks, at);
}

}  // namespace

std::vector<TokenSurprise> surprises(const Session& session, const LoadedModel& model,
                                     const std::function<void()>& check) {
  require_streams("words", session);
  const bool writes = session.info.writes();
  const std::int64_t behind = writes ? 1 : 0;
  const std::vector<std::int64_t> masks = mask_places(session);
  std::vector<TokenSurprise> all;
  visit_logits(session.streams.back(), model, 0, std::ssize(session.tokens) - behind, check,
               [&](std::int64_t position, std::span<const float> logits) {
                 if (!writes && is_sign(session, masks, position)) return;
                 const TokenId id = *word_that_came(session, position);
                 all.push_back({position + behind, chance_of(id, logits)});
               });
  return all;
}

}  // namespace heed
