// Problems so short that one thread solves them before another one is awake.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "attention/problem.h"
#include "base/serial.h"

namespace heed::kernels {

/// About 10 us of the SIMD kernels. Waking a thread costs the caller 5 us, and the thread computes
/// 20 to 50 us later.
inline constexpr std::int64_t kShortMultiplications = std::int64_t{1} << 19;

/// Keeps the loops of a short problem on the calling thread.
inline std::optional<SerialScope> alone_if_short(const AttentionProblem& problem) {
  constexpr std::int64_t kFewRows = 4;  // fewer take as long
  const std::int64_t pairs = std::max(kFewRows, problem.query_length) * problem.key_length;
  const std::int64_t multiplications =
      pairs * problem.batch * problem.heads * (problem.head_dim + problem.value_dim);
  if (multiplications >= kShortMultiplications) return std::nullopt;
  return std::optional<SerialScope>(std::in_place);
}

}  // namespace heed::kernels
