// Which heads a saved page holds, and what it holds of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

/// Holds Q, K and lse of a head where every weight is e^(scale q.k - lse) over a run of keys, else
/// its largest weights (held_weights.h). Heads in view have all of their weights.
std::vector<HeldLayerAnswer> hold(const LiveSession& session,
                                  const std::vector<HeldStackAnswer>& held,
                                  std::span<const Place> in_view, std::int64_t bytes);

/// The keys [begin, end) that each query of the layer may see.
struct VisibleKeys {
  std::vector<std::int32_t> begins;
  std::vector<std::int32_t> ends;
  bool operator==(const VisibleKeys&) const = default;
};
/// None where a query sees keys with others between that it does not see.
std::optional<VisibleKeys> visible_keys(const LayerAttention& layer, int head);

}  // namespace heed
