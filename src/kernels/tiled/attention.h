// Attention in tiles of 64 rows x 64 keys, for everything that is legal, in linear memory. Loops
// over fixed-size tiles, compiled for each vector width of the machine.
#pragma once

#include <cstdint>

#include "kernels/attention.h"

namespace heed::kernels {

void tiled_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward);

/// Cotangents of the rows' entropies and of the keys' received weights, in the accumulator's type;
/// null: 0.
struct WeightCotangents {
  const void* entropy = nullptr;   // [B, H, Tq]
  const void* received = nullptr;  // [B, H, Tk]
};
/// Does not read out, dout and dlse of `backward`, and sets dv to 0.
void tiled_observe_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                            const WeightCotangents& cotangents);

std::int64_t tiled_attention_backward_workspace(const AttentionProblem& problem);

}  // namespace heed::kernels
