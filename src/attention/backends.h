// The attention kernels, best first. A new kernel is one row in a list in backends.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/problem.h"
#include "heed/attention.h"

namespace heed {

/// `run` writes every element of its outputs, padding included: rows past query_length get out 0,
/// lse -inf, lse_low 0, dq 0; dk and dv of keys outside the sequence are 0.
template <typename Results>
struct Candidate {
  std::string_view name;
  /// Why it does not support the problem; empty if it does.
  std::string (*refusal)(const kernels::AttentionProblem& problem);
  void (*run)(const kernels::AttentionProblem& problem, const Results& results);
  std::int64_t (*workspace_bytes)(const kernels::AttentionProblem& problem);
};

std::span<const Candidate<kernels::AttentionForward>> forward_candidates();
std::span<const Candidate<kernels::AttentionBackward>> backward_candidates();

/// The first candidate that supports the problem, or the one named by `wanted`
/// (AttentionArgs.kernel) or $HEED_FORCE. `refusals` collects the reasons of the candidates before
/// it.
const Candidate<kernels::AttentionForward>& choose_forward(const kernels::AttentionProblem& problem,
                                                           const std::string& wanted,
                                                           std::vector<Plan::Refusal>& refusals);
const Candidate<kernels::AttentionBackward>& choose_backward(
    const kernels::AttentionProblem& problem, const std::string& wanted,
    std::vector<Plan::Refusal>& refusals);

}  // namespace heed
