// The SIMD kernels for the gradients of attention in f32, chosen at run time.
#pragma once

#include "kernels/attention.h"

namespace heed::kernels {

void avx512_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward);
void avx2_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward);

/// Bytes of scratch memory, all threads together.
std::int64_t simd_attention_backward_workspace(const AttentionProblem& problem);

}  // namespace heed::kernels
