// Splits a forward pass into tasks for the threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "attention/problem.h"
#include "attention/sweep/tile.h"
#include "base/parallel.h"

namespace heed::kernels {

inline constexpr std::int64_t kMaxTiles = 4;  // row tiles that share a key tile while it is cached

/// The forward pass of one instruction set and accumulator.
struct ForwardKernel {
  /// Bytes of scratch memory for blocks of `tiles` row tiles.
  std::int64_t (*bytes)(const AttentionProblem& problem, std::int64_t tiles);
  /// `memory`: `bytes` bytes, aligned to 64.
  void (*run)(const AttentionProblem& problem, const AttentionForward& forward,
              const RowBlock& block, std::int64_t tiles, void* memory);
};

/// Bytes of scratch memory for all threads together.
std::int64_t forward_workspace(const AttentionProblem& problem, const ForwardKernel& kernel);
void run_forward(const AttentionProblem& problem, const AttentionForward& forward,
                 const ForwardKernel& kernel);

/// About 10 us of the SIMD kernels. Waking a thread costs the caller 5 us, and the thread computes
/// 20 to 50 us later.
inline constexpr std::int64_t kShortMultiplications = std::int64_t{1} << 19;

/// Runs the loops of a short problem on the calling thread.
inline std::optional<SerialScope> alone_if_short(const AttentionProblem& problem) {
  constexpr std::int64_t kFewRows = 16;  // fewer take as long: they wait for keys and values
  const std::int64_t pairs = std::max(kFewRows, problem.query_length) * problem.key_length;
  const std::int64_t multiplications =
      pairs * problem.batch * problem.heads * (problem.head_dim + problem.value_dim);
  if (multiplications >= kShortMultiplications) return std::nullopt;
  return std::optional<SerialScope>(std::in_place);
}

}  // namespace heed::kernels
