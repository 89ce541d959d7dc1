// Weights that count what they carry, as an attention of their own.
#pragma once

#include <cstdint>

#include "heed/inspect/session.h"

namespace heed {

class Attention;

/// [H, Tk]: |W_O v_j| of v [1, G, Tk, Dv], each head's through its part of the output projection
/// (Kobayashi et al. 2020), before the weight and before a norm that may follow.
Tensor write_lengths(const Attention& attention, const Tensor& v);

/// Sets write_lengths of every layer of a session whose pass has ended; none where the model has no
/// attentions to ask.
void measure_writes(Session& session, const LoadedModel& model);

/// The lengths that a layer's weights carry: its write_lengths, else |v_j|, [H, Tk].
Tensor lengths_carried(const LayerAttention& layer);

/// What a cell of a matrix is: a weight p_ij, or the share of the row's writes that it carries,
/// p_ij |W_O v_j| over their sum (norm-weighted attention, Kobayashi et al. 2020).
enum class Quantity : std::uint8_t { kWeight, kCarried };

/// The layer whose weights are the shares that `layer` carries. A share is again a softmax: of the
/// scores with ln |W_O v_j| added to those of each key; so tiles, rows and margins are asked of it
/// as of any other. A sink carries nothing, and has no share. Costs one attention. Error
/// (kUnsupported): weights that no softmax made.
LayerAttention carried(const LayerAttention& layer);

}  // namespace heed
