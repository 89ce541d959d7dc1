// The keys and values of a tile, converted to the accumulator's type. Included once for each
// target.
#if defined(HEED_SWEEP_KEYS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_KEYS_INL_H
#undef HEED_SWEEP_KEYS_INL_H
#else
#define HEED_SWEEP_KEYS_INL_H
#endif

#include <cmath>
#include <limits>

#include "attention/sweep/load_keys-inl.h"
#include "attention/sweep/tile.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

template <typename T>
constexpr DType kTypeOf = std::is_same_v<T, float> ? DType::kF32 : DType::kF64;

/// Divides each row by its norm, which is stored in `norms` unless that is null. A norm below 1e-12
/// counts as 1e-12.
template <typename T>
void normalise_rows(std::int64_t rows, std::int64_t columns, std::int64_t stride, T* tile,
                    double* norms) {
  constexpr double kLeast = 1e-12;
  for (std::int64_t r = 0; r < rows; ++r, tile += stride) {
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c)
      sum += static_cast<double>(tile[c]) * static_cast<double>(tile[c]);
    const double norm = std::sqrt(sum);
    if (norms != nullptr) norms[r] = norm;
    const double inverse = 1 / (norm < kLeast ? kLeast : norm);
    for (std::int64_t c = 0; c < columns; ++c)
      tile[c] = static_cast<T>(static_cast<double>(tile[c]) * inverse);
  }
}

/// Rows of keys or values: in place, or a copy.
template <typename T>
struct KeyRows {
  const T* data = nullptr;
  std::int64_t row = 0;
};

/// Columns up to which sweeps read tiles in place: on AVX2 longer rows leave L1 between strips, and
/// come back faster from a copy in L2 (lab notes of the forward and the backward pass).
constexpr std::int64_t kMostInPlace =
    kStripVectors == 2 ? 96 : std::numeric_limits<std::int64_t>::max();

/// Rows whose distance is a multiple of 512 bytes (and not their own width) map to few sets of the
/// L1 cache: a [B, T, H, D] array with H * D = 1024 uses one set of 64.
inline bool falls_on_few_sets(const Input& from, std::int64_t columns) {
  const std::int64_t bytes = from.row * static_cast<std::int64_t>(size_bytes(from.dtype));
  return bytes % 512 == 0 && from.row > columns;
}

template <typename T>
bool is_read_in_place(const Input& from, std::int64_t columns) {
  return from.dtype == kTypeOf<T> && from.column == 1 && !falls_on_few_sets(from, columns);
}

/// Reads numbers of type T in one run in place if `in_place` allows it. Numbers of another type, in
/// several pages, around the end of a ring or with bad strides are copied to `copy` [64][stride].
template <typename T>
KeyRows<T> read_rows(const AttentionProblem& problem, const KeyOperand& from, const KeySpan& span,
                     bool in_place, std::int64_t stride, T* copy) {
  const KeyRun run = first_run(problem, span);
  if (in_place && run.count == span.count && is_read_in_place<T>(from.values, from.columns)) {
    const std::int64_t at = run.offset(from.values, span.kv_head);
    for (std::int64_t r = 0; r < span.count; ++r)
      kernels::HWY_NAMESPACE::fetch_row(from.values, at + (kTileKeys + r) * from.values.row,
                                        from.columns);
    return {static_cast<const T*>(from.values.data) + at, from.values.row};
  }
  kernels::HWY_NAMESPACE::load_keys(problem, from, span, stride, copy);
  return {copy, stride};
}

/// Like `read_rows`, for k: for the cosine, rows are scaled to norm 1.
template <typename T>
KeyRows<T> read_keys(const AttentionProblem& problem, const KeySpan& span, bool in_place,
                     std::int64_t stride, T* copy) {
  const bool cosine = problem.score.similarity == Similarity::kCosine;
  const KeyRows<T> rows =
      read_rows(problem, keys_of(problem), span, in_place && !cosine, stride, copy);
  if (cosine) normalise_rows<T>(span.count, problem.head_dim, stride, copy, nullptr);
  return rows;
}

/// Whether the rows contain no infinity or NaN.
template <typename T>
bool rows_are_finite(const KeyRows<T>& rows, std::int64_t count, std::int64_t columns) {
  if (rows.row == columns) return all_finite(rows.data, count * columns);
  for (std::int64_t j = 0; j < count; ++j)
    if (!all_finite(rows.data + j * rows.row, columns)) return false;
  return true;
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
