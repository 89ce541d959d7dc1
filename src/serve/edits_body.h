// Parses edits from a client's JSON.
#pragma once

#include "base/formats/json.h"
#include "heed/inspect/session.h"

namespace heed::serve {

/// {"ablate": [PLACE], "remove": [PLACE with query, key], "hide": [TOKEN], "swap": [TOKEN with id
/// or text], "mask": [{"stack", "layer"?, "head"?, "left"?, "right"?}]}; PLACE {"stack", "layer",
/// "head"}, TOKEN {"side": "tokens" | "key_tokens", "position"}. Default stack: the first. Errors
/// name the field. `session` provides stacks and words.
Edits edits_of(const Json& body, const Session& session);

}  // namespace heed::serve
