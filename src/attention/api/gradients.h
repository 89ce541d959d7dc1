// What every backward pass over attention shares: the forward pass's log-sum-exp, and which
// gradients go where, in which type.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "attention/api/checked.h"
#include "heed/attention.h"
#include "tensor/operand.h"

namespace heed {

/// Checks what is asked for and the caller's memory, which may meet neither the inputs nor `given`.
void check_request(std::string_view op, const AttentionArgs& args,
                   const AttentionGradRequest& request);
void check_gradients(std::string_view op, const AttentionArgs& args,
                     const AttentionGradRequest& request, std::span<const Operand> given);

/// Runs a kernel that is given `backward` with a place for every gradient that is asked for.
AttentionGrads gradients(const AttentionArgs& args, const kernels::AttentionProblem& problem,
                         const AttentionGradRequest& request, kernels::AttentionBackward backward,
                         const std::function<void(const kernels::AttentionBackward&)>& run);

/// Both halves; not given where the normaliser has none. Owns what is not the caller's memory.
struct GivenLse {
  GivenLse(std::string_view op, const AttentionArgs& args, const AttendedConstView& attended);
  GivenLse(GivenLse&&) = delete;

  ConstView high;
  ConstView low;
  Tensor high_memory;
  Tensor low_memory;
};

/// Where the reference ran the forward pass, in double, weights are computed again in double too:
/// with scores of f32 their rows would not sum to 1. Makes `problem` and `lse` f64 then, and
/// returns true.
bool widen_after_reference(const AttentionArgs& args, kernels::AttentionProblem& problem,
                           GivenLse& lse);

}  // namespace heed
