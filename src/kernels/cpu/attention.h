// The SIMD attention kernels for f32, chosen at run time.
#pragma once

#include <string>

#include "kernels/attention.h"

namespace heed::kernels {

/// Why a kernel does not serve the problem on this CPU; empty when it does.
std::string avx512_attention_refusal(const AttentionProblem& problem);
std::string avx2_attention_refusal(const AttentionProblem& problem);

void avx512_attention(const AttentionProblem& problem, const AttentionForward& forward);
void avx2_attention(const AttentionProblem& problem, const AttentionForward& forward);

void avx512_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward);
void avx2_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward);

/// Bytes of scratch memory, all threads together.
std::int64_t simd_attention_workspace(const AttentionProblem& problem);
std::int64_t simd_attention_backward_workspace(const AttentionProblem& problem);

}  // namespace heed::kernels
