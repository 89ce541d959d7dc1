// Runs a check of the attention operator with every kernel that supports the problem.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "attention/api/checked.h"
#include "attention/backends.h"

namespace heed::test {

/// Calls `check` with `args` for each forward kernel that supports them; if the backward pass lacks
/// the name, it uses its best kernel.
template <typename Check>
void for_every_kernel(AttentionArgs args, const Check& check) {
  for (const auto& candidate : forward_candidates()) {
    const CheckedAttention checked(args);
    if (!candidate.refusal(checked.problem).empty()) continue;
    args.kernel = candidate.name;
    SCOPED_TRACE(args.kernel);
    check(args);
  }
}

}  // namespace heed::test
