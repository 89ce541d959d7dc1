// What a saved page needs of each head: Q, K and lse, from which any weight follows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/inspect/view.h"
#include "inspect/session/live_session.h"

namespace heed::server {

/// The heads of each layer that a file of this view holds: all of the model, or the layer's, or
/// those in view alone, whichever is the most that stays within `bytes`; the heads in view in any
/// case.
std::vector<std::vector<int>> choose_held(const ModelInfo& info, std::int64_t length,
                                          const ViewAddress& view, std::int64_t bytes);

/// `[{"layer":2,...}]`; throws kUnsupported where a weight is more than e^(scale q.k - lse) over a
/// run of keys.
std::string held_json(const LiveSession& session, const std::vector<std::vector<int>>& held);

/// The keys [begin, end) that each query of the layer may see.
struct VisibleKeys {
  std::vector<std::int32_t> begins;
  std::vector<std::int32_t> ends;
};
VisibleKeys visible_keys(const LayerAttention& layer, int head);

}  // namespace heed::server
