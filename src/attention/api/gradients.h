// What every backward pass over attention shares: which gradients, where they go, and in which
// type.
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

}  // namespace heed
