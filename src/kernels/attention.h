// What the attention kernels get: raw pointers and plain data, already checked.
#pragma once

#include <cstdint>

#include "heed/masks/mask.h"
#include "heed/tensor/dtype.h"

namespace heed::kernels {

// One arithmetic for scores. Backward passes and observers recompute scores and subtract the
// log-sum-exp; at score 10,000 one rounding of f32 is 1e-3, so every kernel but the reference (in
// double) computes the same bits: with T the problem's type,
//   q'_d = q_d * T(scale * log2(e))              (the product of doubles, rounded once to T)
//   s    = fma(q'_{D-1}, k_{D-1}, ... fma(q'_1, k_1, fma(q'_0, k_0, 0)))    (d rising, one chain)
// in base 2: a weight is exp2(s - lse * log2(e)). The lse is stored in natural units, computed in
// double from the maximum and the sum, as a sum of two T.

/// A [B, heads, T, D] operand; strides in elements, any, 0 included.
template <typename Pointer>
struct Strided {
  Pointer data = nullptr;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 1;
};
using Input = Strided<const void*>;
using Output = Strided<void*>;

/// The extents of one batch, every default resolved (ops/attention.h, Extents).
struct Sequence {
  std::int64_t query_length = 0;
  std::int64_t key_begin = 0;
  std::int64_t key_length = 0;
  std::int64_t q_offset = 0;
  std::int64_t key_offset = 0;
};

/// One problem. q, k, v and out are of type `dtype` (f64 or f32); lse and lse_low too, [B, H, Tq]
/// row-major.
struct AttentionProblem {
  DType dtype = DType::kF32;
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t query_length = 0;  // extents of the arrays; the sequences' own are in `sequences`
  std::int64_t key_length = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  Input q, k, v;
  const Sequence* sequences = nullptr;  // [B]
  const MaskRule* mask = nullptr;       // null: everyone
  const double* scale = nullptr;        // [H]
};

struct AttentionForward {
  Output out;
  void* lse = nullptr;
  void* lse_low = nullptr;
};

/// Null pointers: not asked for. dlse may be null (0).
struct AttentionBackward {
  Input out, dout;
  const void* lse = nullptr;
  const void* lse_low = nullptr;
  const void* dlse = nullptr;
  Output dq, dk, dv;
};

inline MaskPlace place(const AttentionProblem& problem, std::int64_t batch, std::int64_t head) {
  const Sequence& sequence = problem.sequences[batch];
  return {batch, head, sequence.q_offset, sequence.key_offset};
}

}  // namespace heed::kernels
