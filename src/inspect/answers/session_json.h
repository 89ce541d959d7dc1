// Sessions and next words as JSON.
#pragma once

#include <string>

#include "inspect/session/live_session.h"

namespace heed::server {

std::string session_json(const std::string& model, const LiveSession& session);

/// After `position`; `top` words.
std::string next_json(const LiveSession& session, std::int64_t position, std::int64_t top);

std::string chosen_json(const ChosenHead& chosen);

/// `{"layer":2,"heads":[...]`, not closed.
std::string layer_json(const LiveSession& session, const LayerHeads& heads, int layer);

}  // namespace heed::server
