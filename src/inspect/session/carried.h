// Norm-weighted attention: weights multiplied by the length of what the value writes.
#pragma once

#include <cstdint>

#include "heed/session.h"

namespace heed {

class Attention;

/// Returns |W_O v_j|, [H, Tk], for v [1, G, Tk, Dv]. W_O is the head's part of the output
/// projection (Kobayashi et al. 2020). The weight and a norm that may follow are not included.
Tensor write_lengths(const Attention& attention, const Tensor& v);

/// Sets write_lengths of every layer of a session whose pass has ended. Leaves them empty if the
/// model has no output projections to multiply with.
void measure_writes(Session& session, const LoadedModel& model);

/// Returns the length of what each key's value writes, [H, Tk]: write_lengths, else |v_j|.
Tensor lengths_carried(const LayerAttention& layer);

/// The kinds of numbers in the cells of a matrix: a weight p_ij, or its carried share, which is
/// p_ij |W_O v_j| divided by the row's sum (norm-weighted attention, Kobayashi et al. 2020).
enum class Quantity : std::uint8_t { kWeight, kCarried };

/// Returns a layer whose weights are the carried shares of `layer`. Adding ln |W_O v_j| to the
/// scores of key j and taking the softmax again gives these shares, so tiles, rows and margins work
/// as for any other layer. A sink writes nothing and has no share. Costs one attention. Throws
/// kUnsupported if the weights do not come from a softmax.
LayerAttention carried(const LayerAttention& layer);

}  // namespace heed
