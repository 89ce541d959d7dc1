// How much each value writes to the stream, for weights that count what they carry.
#pragma once

#include "heed/inspect/session.h"

namespace heed {

class Attention;

/// [H, Tk]: |W_O v_j| of v [1, G, Tk, Dv], each head's through its part of the output projection
/// (Kobayashi et al. 2020), before the weight and before a norm that may stand behind.
Tensor write_lengths(const Attention& attention, const Tensor& v);

/// Of every layer of a session whose pass has ended; none where the model does not tell of its
/// attentions.
void measure_writes(Session& session, const LoadedModel& model);

/// What a layer's weights carry: its write_lengths, else |v_j|, [H, Tk].
Tensor lengths_carried(const LayerAttention& layer);

}  // namespace heed
