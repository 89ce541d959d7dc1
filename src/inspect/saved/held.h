// The content of a saved page, which replaces a server: heads, thumbnails of the other heads,
// answers of a model. A head is stored as q, k and lse, or as its weights if these do not reproduce
// them: given weights, scores with a bias, a soft cap or a sink, masks with gaps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/session.h"
#include "inspect/answers/live_session.h"
#include "inspect/answers/view.h"
#include "inspect/saved/snapshot.h"
#include "text/pipeline/base64.h"

namespace heed {

/// The heads stored in a file of this view: all heads, or those of the first one's layer, or only
/// those in view, whichever is the most that fits in `bytes`; the heads in view always.
std::vector<HeldStackAnswer> choose_held(const Session& session, const ViewAddress& view,
                                         std::int64_t bytes);

/// Stores Q, K and lse of a head if every weight is e^(scale q.k - lse) over a run of keys, else
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
/// Empty if the keys that a query sees have gaps.
std::optional<VisibleKeys> visible_keys(const LayerAttention& layer, int head);

inline constexpr std::int64_t kRowBytes = 10, kEntryBytes = 4;  // before base64

/// Numbers as stored in a file: little-endian, in base64.
std::string packed(const auto& values) {
  const std::span bytes = std::as_bytes(std::span(values));
  return encode_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The `most` largest weights of each row (negative: all), with relative error 1.3e-4, and the sum
/// of the others, which the page spreads evenly. For a row that does not see one run of keys, all
/// weights are listed. Throws kUnsupported for more than 65,535 keys, and for NaN.
HeldWeightsAnswer held_weights(const LayerAttention& layer, int head, std::int64_t most);

/// As many as fit in 4 MB and a few seconds of work, stack after stack.
std::vector<HeldAtlasAnswer> held_atlas(const LiveSession& session,
                                        const std::vector<HeldStackAnswer>& held);

/// By the path of the page's question: JSON, lines of JSON for a branch, base64 of numbers. Empty
/// for other views. Without a model: heads, and flows by rollout.
std::map<std::string, std::string> held_answers(LiveSession& session, const ViewAddress& view);

}  // namespace heed
