// Splits a forward pass into tasks for the threads.
#pragma once

#include "attention/sweep/tile.h"

namespace heed::kernels {

inline constexpr std::int64_t kMaxTiles = 4;  // row tiles that share a key tile while it is near

/// The forward pass of one instruction set and accumulator.
struct ForwardKernel {
  /// Bytes of scratch memory for blocks of `tiles` row tiles.
  std::int64_t (*bytes)(const AttentionProblem& problem, std::int64_t tiles);
  /// `memory`: as many bytes, aligned to 64.
  void (*run)(const AttentionProblem& problem, const AttentionForward& forward,
              const RowBlock& block, std::int64_t tiles, void* memory);
};

/// Bytes of scratch memory, all threads together.
std::int64_t forward_workspace(const AttentionProblem& problem, const ForwardKernel& kernel);
void run_forward(const AttentionProblem& problem, const AttentionForward& forward,
                 const ForwardKernel& kernel);

}  // namespace heed::kernels
