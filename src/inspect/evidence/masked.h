// What a model that fills masks says where a token was covered.
#pragma once

#include "heed/inspect/edits.h"
#include "heed/inspect/session.h"

namespace heed {

/// `[MASK]`, `<mask>`. kUnsupported where the session's model fills none or names none.
TokenId mask_token(const Session& session);

/// The mask in the place of one token.
Edits covered(const Session& session, std::int64_t position);

}  // namespace heed
