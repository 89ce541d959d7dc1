// Weights that count what they carry, as an attention of their own.
#pragma once

#include <cstdint>

#include "heed/inspect/session.h"

namespace heed {

/// What a cell of a matrix is: a weight p_ij, or the share of the row's writes that it carries,
/// p_ij |W_O v_j| over their sum (norm-weighted attention, Kobayashi et al. 2020).
enum class Quantity : std::uint8_t { kWeight, kCarried };

/// The layer whose weights are the shares that `layer` carries. A share is again a softmax: of the
/// scores with ln |W_O v_j| added to those of each key; so tiles, rows and margins are asked of it
/// as of any other. A sink carries nothing, and has no share. Costs one attention. Error
/// (kUnsupported): weights that no softmax made.
LayerAttention carried(const LayerAttention& layer);

}  // namespace heed
