// Exact attention in one sweep over tiles of 64 rows x 64 keys, for everything that is legal, in
// linear memory. Compiled for each instruction set and chosen at run time.
#pragma once

#include <string>

#include "kernels/attention.h"

namespace heed::kernels {

/// The instruction sets that the sweep is compiled for. The baseline is what every CPU of the
/// architecture has: NEON on ARM, no vectors on x86.
enum class SweepTarget : std::uint8_t { kAvx512, kAvx2, kBaseline };

/// Why a target does not serve on this CPU; empty when it does.
std::string avx512_refusal(const AttentionProblem& problem);
std::string avx2_refusal(const AttentionProblem& problem);

template <SweepTarget kTarget>
void sweep_attention(const AttentionProblem& problem, const AttentionForward& forward);

/// Bytes of scratch memory, all threads together.
template <SweepTarget kTarget>
std::int64_t sweep_attention_workspace(const AttentionProblem& problem);

}  // namespace heed::kernels
