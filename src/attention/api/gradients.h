// Shared by all backward passes over attention: the forward pass's log-sum-exp, and the memory and
// type of each gradient.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "attention/api/checked.h"
#include "heed/attention.h"
#include "tensor/operand.h"

namespace heed {

/// Checks the request and the caller's memory, which may overlap neither the inputs nor `given`.
void check_request(std::string_view op, const AttentionArgs& args,
                   const AttentionGradRequest& request);
void check_gradients(std::string_view op, const AttentionArgs& args,
                     const AttentionGradRequest& request, std::span<const Operand> given);

/// Runs a kernel with memory for every requested gradient.
AttentionGrads gradients(const AttentionArgs& args, const kernels::AttentionProblem& problem,
                         const AttentionGradRequest& request, kernels::AttentionBackward backward,
                         const std::function<void(const kernels::AttentionBackward&)>& run);

/// Both halves; not given if the normaliser has none. Owns its memory unless the caller gave it.
struct GivenLse {
  GivenLse(std::string_view op, const AttentionArgs& args, const AttendedConstView& attended);
  GivenLse(GivenLse&&) = delete;

  ConstView high;
  ConstView low;
  Tensor high_memory;
  Tensor low_memory;
};

/// After a forward pass by the reference, which computes in double, weights must be recomputed in
/// double too: from f32 scores their rows would not sum to 1. In that case converts `problem` and
/// `lse` to f64 and returns true.
bool widen_after_reference(const AttentionArgs& args, kernels::AttentionProblem& problem,
                           GivenLse& lse);

}  // namespace heed
