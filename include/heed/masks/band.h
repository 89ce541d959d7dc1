// Bands of positions: everyone, causal and sliding-window attention.
#pragma once

#include <cstdint>

#include "heed/masks/mask.h"

namespace heed {

/// How many keys to each side of its own position a query may attend to; -1: all of them.
struct Band {
  std::int64_t left = -1;
  std::int64_t right = -1;
};

/// Visible where `p_i - left <= p_j <= p_i + right`, with the positions of Extents
/// (ops/attention.h).
Mask band(const Band& sides);

/// `band({.left = -1, .right = 0})`: no key after the query's own position. Bottom-right aligned
/// by default (the last query sees every key, FlashAttention's convention), since `q_offset`
/// defaults to key_length - query_length; top-left (PyTorch's `is_causal`) is `q_offset = 0`.
Mask causal();

}  // namespace heed
