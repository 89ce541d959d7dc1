// A backward pass of attention as tasks for the threads: the input of a task, and the functions
// that an instruction set must provide.
#pragma once

#include <atomic>
#include <cstdint>

#include "attention/sweep/attention.h"
#include "attention/sweep/tile.h"

namespace heed::kernels {

/// A tile's contribution to the gradients of one head's slope and scale.
struct TileSums {
  double slope = 0;
  double scale = 0;
};

/// A backward pass: its inputs, and the data shared by its tasks.
struct BackwardJob {
  const AttentionProblem& problem;
  const AttentionBackward& backward;
  const WeightCotangents* observed = nullptr;  // replaces dout
  void* delta = nullptr;     // like lse: sum_j p dp - dlse, where sum_j p dp = sum_d out dout
  Output dq = {};            // accumulator's type: the caller's, or memory that is rounded later
  TileSums* sums = nullptr;  // [B, H, key blocks]; null: not requested
  std::atomic<std::int64_t>* dq_turns = nullptr;  // [B, H, row blocks]; null: one task, in order
  /// One turn per tile of dbias, if tiles of several heads or batches are added to it; else null.
  std::atomic<std::int64_t>* bias_turns = nullptr;
  bool bias_in_sweep = false;  // the sweep over key blocks adds to dbias
  std::int64_t key_group = 1;  // key blocks that one task sweeps together

  std::int64_t row_blocks() const { return blocks_of(problem.query_length); }
  std::int64_t key_blocks() const { return blocks_of(problem.key_length); }
  /// Query heads per key/value head; 1 without heads, so that callers can divide by it.
  std::int64_t group() const {
    return problem.heads > problem.kv_heads ? problem.heads / problem.kv_heads : 1;
  }
  bool softmax() const { return problem.score.normaliser == Normaliser::kSoftmax; }
  /// Whether all five products are of pairs of bf16. Of K Q^T and V dO^T, whose factors are bf16,
  /// that changes no bit; weights and cotangents are rounded.
  bool in_pairs() const { return has_pairs(problem) && observed == nullptr; }
  bool wants_sums() const { return backward.dslope != nullptr || backward.dscale != nullptr; }
  bool wants_sweep() const {
    return bias_in_sweep || backward.dq.data != nullptr || backward.dk.data != nullptr ||
           backward.dv.data != nullptr || wants_sums();
  }
};

/// Key blocks that a task may sweep together.
inline constexpr std::int64_t kMostKeyBlocks = 4;

/// The block of a task: which block of which matrix. Blocks have 64 rows or keys.
struct BlockPlace {
  std::int64_t batch = 0;
  std::int64_t head = 0;  // a key/value head in `key_block`
  std::int64_t row_block = 0;
  std::int64_t key_block = 0;
};

/// The backward pass of one instruction set and accumulator. `memory`: `bytes` of scratch, aligned
/// to 64.
struct BackwardKernel {
  std::int64_t (*bytes)(const BackwardJob& job);
  /// Computes delta for the rows of a head from out and dout.
  void (*prepare_head)(const BackwardJob& job, const BlockPlace& at, void* memory);
  /// Computes delta for observers, one block of rows: needs its own sweep.
  void (*prepare_observed)(const BackwardJob& job, const BlockPlace& at, void* memory);
  /// Computes dk and dv of a group of key blocks, starting at `at`, and its contribution to dq,
  /// dbias and the sums.
  void (*key_group)(const BackwardJob& job, const BlockPlace& at, void* memory);
  /// One block of a dbias that is summed over rows or keys.
  void (*bias_block)(const BackwardJob& job, const BlockPlace& at, void* memory);
  /// Copies a head's rows of dq from the memory where they were summed to the caller's.
  void (*finish_head)(const BackwardJob& job, const BlockPlace& at, void* memory);
};

/// The term that the sink, as one more key, adds to sum_j p dp if observers give dp.
double sink_share(const BackwardJob& job, std::int64_t batch, std::int64_t head, std::int64_t row);

std::int64_t backward_workspace(const AttentionProblem& problem, const BackwardKernel& kernel);
void run_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                  const WeightCotangents* observed, const BackwardKernel& kernel);

}  // namespace heed::kernels
