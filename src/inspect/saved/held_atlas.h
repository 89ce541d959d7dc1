// Thumbnails for the heads that a saved page does not hold, so that its grid shows them.
#pragma once

#include <vector>

#include "inspect/answers/live_session.h"
#include "inspect/saved/snapshot.h"

namespace heed {

/// As many as stay within 4 MB and some seconds of work, stack after stack.
std::vector<HeldAtlasAnswer> held_atlas(const LiveSession& session,
                                        const std::vector<HeldStackAnswer>& held);

}  // namespace heed
