// What a model says at each token: how likely it was, and what fills a mask in its place.
#pragma once

#include <functional>
#include <vector>

#include "heed/inspect/edits.h"
#include "heed/inspect/session.h"
#include "inspect/evidence/read_out.h"

namespace heed {

/// `[MASK]`, `<mask>`. kUnsupported where the session's model fills none or names none.
TokenId mask_token(const Session& session);

/// The mask in the place of one token.
Edits covered(const Session& session, std::int64_t position);

struct TokenSurprise {
  std::int64_t token = 0;  // index in the session
  WordChance chance;       // its own, among the words that might have come there
};

/// Of each token that the model could foresee: behind the first where it writes; of an encoder of
/// every one of the texts, which it sees, but of those that are covered. Errors as `lens`.
std::vector<TokenSurprise> surprises(const Session& session, const LoadedModel& model,
                                     const std::function<void()>& check);

}  // namespace heed
