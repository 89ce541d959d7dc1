// Layers of a session: which keys their queries see, and second owners of what they keep.
#pragma once

#include <cstdint>

#include "heed/inspect/session.h"

namespace heed {

/// Bit i of by_key[j] says whether query tile.row_begin + i sees key tile.key_begin + j; a tile has
/// at most 64 rows.
void visible_bits(const LayerAttention& layer, int head, const MaskTile& tile,
                  std::uint64_t* by_key);

/// Whether no query sees a key that stands behind it.
bool is_causal(const LayerAttention& layer);

/// The same arrays, not copies of them.
Session shared(const Session& session);
LayerAttention shared(const LayerAttention& layer);

/// The tensor as f32: itself, or a wider copy.
Tensor widened(const Tensor& tensor);

}  // namespace heed
