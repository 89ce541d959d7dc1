// Splits a backward pass into tasks for the threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/sweep/tile.h"

namespace heed::kernels {

/// Keys [begin, begin + count) of a key/value head: block `index` of its sequence.
struct KeyBlock {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::int64_t index = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  /// Of each head and row block of the key/value head: which key block may add to dQ next. Null
  /// where one thread takes the key blocks in order.
  std::atomic<std::int64_t>* turns = nullptr;
};

/// One thread's memory for a problem.
struct BackwardScratch {
  std::int64_t width = 0;        // D rounded up to whole lines
  std::int64_t value_width = 0;  // Dv likewise
  std::int64_t bytes = 0;
  float* k = nullptr;  // of the key block: [64][width]
  float* v = nullptr;  // [64][value_width]
  float* dk = nullptr;
  float* dv = nullptr;
  float* queries = nullptr;     // of the row block: [D][64] times the scale
  float* query_rows = nullptr;  // [64][width]
  float* dout = nullptr;        // [Dv][64]
  float* dout_rows = nullptr;   // [64][value_width]
  float* out_rows = nullptr;    // [64][value_width]
  float* lse = nullptr;         // [64]
  float* lse_low = nullptr;     // [64]
  float* delta = nullptr;       // [64]: sum of out * dout, less dlse
  float* weights = nullptr;     // [6 keys][64 rows]
  float* dscores = nullptr;     // [64 keys][64 rows]
  float* dq = nullptr;          // [64][width]

  explicit BackwardScratch(const AttentionProblem& problem);  // sizes only
  void place(float* memory);                                  // 64-byte aligned, `bytes` long
};

using KeyBlockKernel = void (*)(const AttentionProblem&, const AttentionBackward&, const KeyBlock&,
                                BackwardScratch&);

struct BackwardKernel {
  KeyBlockKernel key_block;
  /// Rows of one head of dQ, from f32 to the caller's type.
  void (*round_rows)(const AttentionProblem& problem, const Output& gathered, std::int64_t batch,
                     std::int64_t head, const Output& dq);
};

void run_backward_tasks(const AttentionProblem& problem, const AttentionBackward& backward,
                        const BackwardKernel& kernel);

}  // namespace heed::kernels
