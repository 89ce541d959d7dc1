// Which heads a saved page holds, and what it holds of them.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/inspect/view.h"
#include "inspect/answers/live_session.h"
#include "inspect/saved/snapshot.h"

namespace heed {

/// The heads that a file of this view holds: all of them, or those of the first one's layer, or
/// those in view alone, whichever is the most that stays within `bytes`; the heads in view in any
/// case.
std::vector<HeldStackAnswer> choose_held(const Session& session, const ViewAddress& view,
                                         std::int64_t bytes);

/// Throws kUnsupported where a weight is more than e^(scale q.k - lse) over a run of keys.
std::vector<HeldLayerAnswer> hold(const LiveSession& session,
                                  const std::vector<HeldStackAnswer>& held);

/// The keys [begin, end) that each query of the layer may see.
struct VisibleKeys {
  std::vector<std::int32_t> begins;
  std::vector<std::int32_t> ends;
};
VisibleKeys visible_keys(const LayerAttention& layer, int head);

}  // namespace heed
