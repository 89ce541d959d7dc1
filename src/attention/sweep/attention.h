// Exact attention in one sweep over tiles of 64 rows x 64 keys, for every legal problem, in linear
// memory. Compiled for each instruction set and chosen at run time.
#pragma once

#include <string>

#include "attention/problem.h"

namespace heed::kernels {

/// The instruction sets that the sweep is compiled for. The baseline is available on every CPU of
/// the architecture: NEON on ARM, no vectors on x86.
enum class SweepTarget : std::uint8_t { kAvx512, kAvx2, kBaseline };

/// Why a target cannot run on this CPU; empty if it can.
std::string avx512_refusal(const AttentionProblem& problem);
std::string avx2_refusal(const AttentionProblem& problem);

void sweep_attention(SweepTarget target, const AttentionProblem& problem,
                     const AttentionForward& forward);

/// Cotangents of the rows' entropies and of the keys' received weights, in the accumulator's type;
/// null: 0.
struct WeightCotangents {
  const void* entropy = nullptr;   // [B, H, Tq]
  const void* received = nullptr;  // [B, H, Tk]
};

void sweep_attention_backward(SweepTarget target, const AttentionProblem& problem,
                              const AttentionBackward& backward);
/// Runs on the best available target. Does not read out, dout and dlse of `backward`, and sets dv
/// to 0.
void sweep_observe_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                            const WeightCotangents& cotangents);

/// Bytes of scratch memory for all threads together.
std::int64_t sweep_attention_workspace(SweepTarget target, const AttentionProblem& problem);
std::int64_t sweep_attention_backward_workspace(SweepTarget target,
                                                const AttentionProblem& problem);

}  // namespace heed::kernels
