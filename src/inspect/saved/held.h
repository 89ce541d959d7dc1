// What a saved page holds in place of a server: heads, thumbnails of the others, answers of a
// model. A head is held by q, k and lse, or by its weights where these do not give them again:
// weights that were given, scores with a bias, a soft cap or a sink, masks with gaps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/inspect/session.h"
#include "heed/inspect/view.h"
#include "inspect/answers/live_session.h"
#include "inspect/saved/snapshot.h"
#include "text/pipeline/base64.h"

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

inline constexpr std::int64_t kRowBytes = 10, kEntryBytes = 4;  // before base64

/// Numbers as a file holds them: little-endian, in base64.
template <typename Values>
std::string packed(const Values& values) {
  const std::span bytes = std::as_bytes(std::span(values));
  return encode_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The `most` largest weights of each row (below 0: all), right to 1.3e-4 of themselves, and the
/// sum of the others, which a page spreads evenly. A row that does not see one run of keys has all
/// of its weights listed. Throws kUnsupported for more than 65,535 keys, and for NaN.
HeldWeightsAnswer held_weights(const LayerAttention& layer, int head, std::int64_t most);

/// As many as stay within 4 MB and some seconds of work, stack after stack.
std::vector<HeldAtlasAnswer> held_atlas(const LiveSession& session,
                                        const std::vector<HeldStackAnswer>& held);

/// By the question as the page's path has it: JSON, lines of JSON of a branch, base64 of numbers.
/// Empty where the view is another one. Without a model it holds heads, and flows by rollout.
std::map<std::string, std::string> held_answers(LiveSession& session, const ViewAddress& view);

}  // namespace heed
