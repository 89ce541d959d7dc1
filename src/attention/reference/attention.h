// The normative meaning of attention: plain loops in double.
#pragma once

#include "attention/problem.h"

namespace heed::kernels {

void reference_attention(const AttentionProblem& problem, const AttentionForward& forward);
void reference_attention_backward(const AttentionProblem& problem,
                                  const AttentionBackward& backward);
std::int64_t reference_attention_workspace(const AttentionProblem& problem);
std::int64_t reference_attention_backward_workspace(const AttentionProblem& problem);

}  // namespace heed::kernels
