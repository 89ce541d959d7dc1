// A head as a file holds it by its weights, where q and k do not give them again: weights that were
// given, scores with a bias, a soft cap or a sink, masks with gaps.
#pragma once

#include <cstdint>

#include "heed/inspect/session.h"
#include "inspect/saved/snapshot.h"

namespace heed {

inline constexpr std::int64_t kRowBytes = 10, kEntryBytes = 4;  // before base64

/// The `most` largest weights of each row (below 0: all), right to 1.3e-4 of themselves, and the
/// sum of the others, which a page spreads evenly. A row that does not see one run of keys has all
/// of its weights listed. Throws kUnsupported for more than 65,535 keys, and for NaN.
HeldWeightsAnswer held_weights(const LayerAttention& layer, int head, std::int64_t most);

}  // namespace heed
