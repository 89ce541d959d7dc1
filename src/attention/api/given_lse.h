// The log-sum-exp that the forward pass left for those after it.
#pragma once

#include <string_view>

#include "attention/api/checked.h"

namespace heed {

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
