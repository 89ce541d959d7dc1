// How likely each token was to the model that reads it.
#pragma once

#include <functional>
#include <vector>

#include "inspect/evidence/read_out.h"

namespace heed {

struct TokenSurprise {
  std::int64_t token = 0;  // index in the session
  WordChance chance;       // its own, among the words that might have come there
};

/// Of each token that the model could foresee: behind the first where it writes; of an encoder of
/// every one of the texts, which it sees, but of those that are covered. Errors as `lens`.
std::vector<TokenSurprise> surprises(const Session& session, const LoadedModel& model,
                                     const std::function<void()>& check);

}  // namespace heed
