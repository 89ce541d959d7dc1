// A head as a file holds it by its weights, where q and k do not give them again: weights that were
// given, scores with a bias, a soft cap or a sink, masks with gaps.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "heed/inspect/session.h"
#include "inspect/saved/snapshot.h"
#include "text/pipeline/base64.h"

namespace heed {

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

}  // namespace heed
