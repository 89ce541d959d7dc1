// Helpers for the layers of a session: which keys their queries see, and tensors that share memory.
#pragma once

#include <cstdint>

#include "heed/session.h"

namespace heed {

/// The positions of query 0 and key 0, by the operator's rule (attention.h).
MaskPlace place_of(const LayerAttention& layer, int head);

/// Bit i of by_key[j] says whether query tile.row_begin + i sees key tile.key_begin + j; a tile has
/// at most 64 rows.
void visible_bits(const LayerAttention& layer, int head, const MaskTile& tile,
                  std::uint64_t* by_key);

/// Whether no query sees a key at a later position.
bool is_causal(const LayerAttention& layer);

/// Returns a layer that shares the arrays of `layer` instead of copying them.
Session shared(const Session& session);
LayerAttention shared(const LayerAttention& layer);

/// Returns the tensor as f32: the tensor itself, or a converted copy.
Tensor widened(const Tensor& tensor);

}  // namespace heed
