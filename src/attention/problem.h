// The arguments of the attention kernels, already checked: raw pointers and plain data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "heed/mask.h"
#include "heed/tensor.h"

namespace heed::kernels {

// All kernels compute scores with the same arithmetic. Backward passes and observers recompute
// scores and subtract the log-sum-exp; at score 10,000 one rounding of f32 is 1e-3, so every kernel
// but the reference (in double) computes the same bits: with T the problem's accumulator,
//   q'_d = q_d * T(scale)
//   s    = fma(q'_{D-1}, k_{D-1}, ... fma(q'_1, k_1, fma(q'_0, k_0, 0)))    (ascending d, one
//   chain) and then, if the problem has them, scale, softcap, bias and ALiBi, step by step: all
//   passes share the functions of sweep/steps-inl.h.
//
// A score may be any finite number. A weight is exp2((s - maximum) * log2(e)), or
// exp2(((s - lse) - lse_low) * log2(e)) when recomputed: log2(e) never multiplies a score itself,
// because the product may be infinite. The log-sum-exp is maximum + log(sum) as a sum of two T
// (LogSum). From 2^25 log(sum) on, lse is the maximum itself, a score to the last bit, and lse_low
// is log(sum): so weights are as exact at 10^38 as at 1. Kept in base 2, with log2(e) in the factor
// of q, the pair would need 80 bits at 10^18.

/// From this magnitude on, every kernel rounds scores to the accumulator's type, including the
/// reference: two f32 could not hold the log-sum-exp of a more exact score (2^-49 of 2^27 is
/// 2.4e-7).
inline constexpr double kFarScore = 0x1p27;

inline double held_by_f32(double score) {
  if (!(std::abs(score) >= kFarScore) || std::isinf(score)) return score;
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<double>(static_cast<float>(std::clamp(score, -kMost, kMost)));
}

/// A log-sum-exp as the unevaluated sum of two numbers; one number might lose the lower one.
struct LogSum {
  double high = 0;
  double low = 0;

  /// score - lse: the logarithm of a weight.
  double below(double score) const { return (score - high) - low; }

  /// Rounds to two T. Cannot overflow: log(sum) is negligible beside the largest number of T.
  template <typename T>
  void store(T& lse, T& lse_low) const {
    lse = static_cast<T>(high + low);
    const double rest = (high - static_cast<double>(lse)) + low;
    lse_low = std::isfinite(lse) ? static_cast<T>(rest) : T{0};
  }
};

/// A [B, heads, T, D] operand; strides in elements, arbitrary, 0 included.
template <typename Pointer>
struct Strided {
  Pointer data = nullptr;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 1;
  DType dtype = DType::kF32;
};
using Input = Strided<const void*>;
using Output = Strided<void*>;

/// The extents of one batch, with all defaults filled in (attention.h, Extents).
struct Sequence {
  std::int64_t query_length = 0;
  std::int64_t key_begin = 0;  // slot of key 0
  std::int64_t key_length = 0;
  std::int64_t q_offset = 0;
  std::int64_t key_offset = 0;
  std::int64_t query_begin = 0;  // first row in q; nonzero only if queries are packed
};

enum class Similarity : std::uint8_t { kDot, kCosine, kGaussian, kAbsolute };
enum class Normaliser : std::uint8_t { kSoftmax, kSigmoid, kNone };

/// Everything about a score and its weight beyond softmax(scale * q . k) (attention.h); absent by
/// default.
struct ScoreRule {
  Similarity similarity = Similarity::kDot;
  Normaliser normaliser = Normaliser::kSoftmax;
  double softcap = 0;             // 0: no softcap
  Input bias = {};                // null: none; stride 0 on broadcast axes
  const double* slope = nullptr;  // [H]: ALiBi; null: none
  const double* sink = nullptr;   // [H]; null: none
};

/// Keeps the words that are at least `threshold` (rate * 2^32, rounded); 0: no dropout.
struct DropoutRule {
  std::uint64_t threshold = 0;
  double scale = 1;  // of kept weights
  std::uint64_t seed = 0;
  std::uint32_t offset = 0;
  std::int64_t first_row = 0;  // index in the batch that the seed is for
};

/// How slots of keys map to memory, other than row after row (attention/key_run.h), and the scales
/// of i8.
struct KeyForm {
  const std::int64_t* pages = nullptr;  // [B, pages_a_row]; null: not paged
  std::int64_t pages_a_row = 0;
  std::int64_t page_size = 0;
  std::int64_t ring_slots = 0;  // slots wrap around after this many; 0: no ring
  Input k_scales = {};
  Input v_scales = {};
};

/// One problem. out and out_low have the type of q; lse, lse_low and dlse have the type
/// `accumulator`.
struct AttentionProblem {
  DType dtype = DType::kF32;  // of q
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t query_length = 0;  // extents of the arrays; those of sequences are in `sequences`
  std::int64_t key_length = 0;    // (packed and paged: those of the longest sequence)
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  Input q, k, v;
  const Sequence* sequences = nullptr;  // [B]
  const MaskRule* mask = nullptr;       // null: no mask
  const double* scale = nullptr;        // [H]
  ScoreRule score = {};
  DropoutRule dropout = {};
  std::int64_t packed_queries = 0;  // total rows of q if packed, else 0
  bool packed_keys = false;
  KeyForm key_form = {};
  /// q and k are bf16, and this CPU multiplies pairs of bf16 faster than floats. Every pass scales
  /// their products alike, in pairs or not (sweep/steps-inl.h).
  bool in_pairs = false;
  bool far_scores_of_f32 = false;  // in an f64 problem whose forward pass was f32
};

struct AttentionForward {
  Output out;
  void* lse = nullptr;  // both null if the normaliser has no log-sum-exp
  void* lse_low = nullptr;
  Output out_low = {};  // rounding error of out, 16-bit types only; null: not wanted
};

/// Null pointers: not requested. dlse and out_low may be null (0).
struct AttentionBackward {
  Input out = {}, dout = {};
  const void* lse = nullptr;
  const void* lse_low = nullptr;
  const void* dlse = nullptr;
  Input out_low = {};
  Output dq = {}, dk = {}, dv = {};
  Output dbias = {};         // stride 0 on summed axes
  bool dbias_sums[4] = {};   // which of batch, heads, rows, keys are summed
  double* dsink = nullptr;   // [H]
  double* dslope = nullptr;  // [H]
  double* dscale = nullptr;  // [H]
};

/// The log-sum-exp of the row with lse_index `at`.
template <typename T>
LogSum lse_of(const AttentionBackward& backward, std::int64_t at) {
  return {static_cast<double>(static_cast<const T*>(backward.lse)[at]),
          static_cast<double>(static_cast<const T*>(backward.lse_low)[at])};
}

/// Whether the factors of every product may be pairs of bf16.
inline bool has_pairs(const AttentionProblem& problem) {
  return problem.in_pairs && problem.v.dtype == DType::kBF16 &&
         problem.score.similarity == Similarity::kDot;
}

/// Whether a forward pass without out_low multiplies pairs of bf16, with weights rounded to bf16.
/// Gradients of the scores' parameters need out more exactly than rounded weights give it.
inline bool may_round_weights(const AttentionProblem& problem) {
  return has_pairs(problem) && problem.score.normaliser == Normaliser::kSoftmax &&
         problem.dropout.threshold == 0;
}

inline DType accumulator(const AttentionProblem& problem) {
  return problem.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

inline MaskPlace place(const AttentionProblem& problem, std::int64_t batch, std::int64_t head) {
  const Sequence& sequence = problem.sequences[batch];
  return {batch, head, sequence.q_offset, sequence.key_offset};
}

/// The index of row i of a head in lse, lse_low and dlse: [B, H, Tq], or [H, total] if packed.
inline std::int64_t lse_index(const AttentionProblem& problem, std::int64_t batch,
                              std::int64_t head, std::int64_t row) {
  if (problem.packed_queries > 0)
    return head * problem.packed_queries + problem.sequences[batch].query_begin + row;
  return (batch * problem.heads + head) * problem.query_length + row;
}

/// Rows of all heads: the number of entries of lse.
inline std::int64_t lse_count(const AttentionProblem& problem) {
  const std::int64_t rows = problem.batch * problem.query_length;
  return problem.heads * (problem.packed_queries > 0 ? problem.packed_queries : rows);
}

/// Memory for `columns` numbers per query row, with the layout and type of lse.
inline Output query_rows(const AttentionProblem& problem, std::int64_t columns, void* memory) {
  const bool packed = problem.packed_queries > 0;
  const std::int64_t rows = packed ? problem.packed_queries : problem.query_length;
  return {.data = memory,
          .batch = packed ? 0 : problem.heads * rows * columns,
          .head = rows * columns,
          .row = columns,
          .column = 1,
          .dtype = accumulator(problem)};
}

/// Rows of the array that belong to a batch; those past its query_length are padding.
inline std::int64_t query_room(const AttentionProblem& problem, std::int64_t batch) {
  return problem.packed_queries > 0 ? problem.sequences[batch].query_length : problem.query_length;
}

}  // namespace heed::kernels
