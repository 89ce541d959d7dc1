// A model's prediction for each token: how likely it was, and what fills a mask in its place.
#pragma once

#include <functional>
#include <vector>

#include "heed/session.h"
#include "inspect/evidence/read_out.h"

namespace heed {

/// `[MASK]`, `<mask>`. kUnsupported if the session's model fills no masks or names none.
TokenId mask_token(const Session& session);

/// Replaces one token by the mask.
Edits covered(const Session& session, std::int64_t position);

struct TokenSurprise {
  std::int64_t token = 0;  // index in the session
  WordChance chance;       // its probability among the words possible there
};

/// For each token that the model could predict: those after the first if it generates; for an
/// encoder all tokens of the texts, which it sees, except masks. Errors as in `lens`.
std::vector<TokenSurprise> surprises(const Session& session, const LoadedModel& model,
                                     const std::function<void()>& check);

}  // namespace heed
