// Products of a few query rows, as a step of a decoder has them: the keys in the lanes of the
// scores, the columns of V in those of the output. Included once for each target.
//
// With the rows in the lanes, one of sixteen was work, and six sums at a time waited for each
// other. These are the same sums in the same order. One row of 12 heads of 64 over as many
// key/value heads, one thread of an AMD EPYC (Zen 5), microseconds for 250 and 4,000 keys: AVX-512
// 47 and 1,349 before, 29 and 742 now; AVX2 52 and 2,012, 33 and 879. With two threads, which a row
// of 250 keys was too short for, 15 and 303.
//
// Keys and values are not copied, those of 16 bits are widened in registers, and what comes 64
// keys later is fetched while a few keys are computed. One row of 32 heads over 8, D = 128, one
// thread of an AMD Zen 3, milliseconds for 4,096 and 8,192 keys: f32 4.5 and 9.7 before, 3.9 and
// 8.4 now; f16 2.3 and 4.9, 1.8 and 4.5. Where the rows of a whole tile were fetched at once, f16
// took 5.8 for 8,192 keys: there are more lines than the core can wait for.
#if defined(HEED_SWEEP_FEW_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_FEW_ROWS_INL_H
#undef HEED_SWEEP_FEW_ROWS_INL_H
#else
#define HEED_SWEEP_FEW_ROWS_INL_H
#endif

#include <algorithm>

#include "attention/sweep/keys-inl.h"
#include "attention/sweep/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// Rows of a tile that count as few: all of one strip.
constexpr int kMostFewRows = HWY_TARGET == HWY_SCALAR ? 0 : 4;

#if HWY_TARGET != HWY_SCALAR
constexpr int kKeyVectors = 2;  // as many chains a row
constexpr int kKeysAtOnce = kKeyVectors * kLanes<float>;

/// Scores of kKeysAtOnce keys from `k` on to the queries of `p`; `scores` [key][stride].
template <int kRows, typename Key>
HWY_INLINE void scores_of_keys(const Factors<Key, float>& p, const Key* k, float* scores,
                               std::int64_t stride) {
  const Tag<float> d;
  Vec<float> sums[kKeyVectors][kRows];
#pragma GCC unroll 2
  for (int g = 0; g < kKeyVectors; ++g) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) sums[g][i] = hn::Zero(d);
  }
  const float* queries = p.b;
  for (std::int64_t x = 0; x < p.depth; x += 4, queries += 4 * p.b_row) {
#pragma GCC unroll 2
    for (int g = 0; g < kKeyVectors; ++g) {
      Vec<float> columns[4];
      load_columns(d, k + g * kLanes<float> * p.a_row + x, p.a_row, columns);
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i)
          sums[g][i] = hn::MulAdd(columns[u], hn::Set(d, queries[u * p.b_row + i]), sums[g][i]);
      }
    }
  }
  alignas(64) float by_row[kRows][kKeysAtOnce];
  for (int g = 0; g < kKeyVectors; ++g)
    for (int i = 0; i < kRows; ++i) hn::Store(sums[g][i], d, by_row[i] + g * kLanes<float>);
  for (int key = 0; key < kKeysAtOnce; ++key, scores += stride) {
    hn::Store(hn::Zero(d), d, scores);  // the lanes of no row
    for (int i = 0; i < kRows; ++i) scores[i] = by_row[i][key];
  }
}

template <int kRows, typename Key>
HWY_NOINLINE void scores_of_rows(const Factors<Key, float>& p, std::int64_t keys, float* scores,
                                 std::int64_t stride) {
  for (std::int64_t j = 0; j < keys; j += kKeysAtOnce) {
    const std::int64_t from = std::min(j, keys - kKeysAtOnce);  // the last ones: some again
    scores_of_keys<kRows>(p, p.a + from * p.a_row, scores + from * stride, stride);
  }
}
#endif

/// S^T = K Q^T of `rows` <= kMostFewRows rows in the first vector of a strip; false where the shape
/// is not one for it.
template <typename Key, typename T>
bool scores_of_few_rows([[maybe_unused]] int rows, [[maybe_unused]] const Factors<Key, T>& p,
                        [[maybe_unused]] std::int64_t keys, [[maybe_unused]] T* scores,
                        [[maybe_unused]] std::int64_t stride) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    if (keys < kKeysAtOnce || p.depth % 4 != 0) return false;
    if (rows == 1)
      scores_of_rows<1>(p, keys, scores, stride);
    else if (rows == 2)
      scores_of_rows<2>(p, keys, scores, stride);
    else
      scores_of_rows<4>(p, keys, scores, stride);
    return true;
  }
#endif
  return false;
}

/// kRows rows of out: as many sums as hide the latency.
template <int kRows, typename T, typename Value>
void add_values_of(const Factors<T, Value>& p, std::int64_t columns, const T* factor, T* out,
                   std::int64_t stride) {
  constexpr int kWide = 8 / kRows;
  constexpr int kStep = kWide * kLanes<T>;
  Factors<T, Value> at = p;
  std::int64_t x = 0;
  for (; x + kStep <= columns; x += kStep, at.b += kStep)
    add_scaled_product<kRows, kWide, Left::kByDepth, Scaled::kByRow>(at, factor, out + x, stride);
  for (; x < columns; x += kLanes<T>, at.b += kLanes<T>)
    add_scaled_product<kRows, 1, Left::kByDepth, Scaled::kByRow>(at, factor, out + x, stride);
}

/// out [rows][stride] = out factor + P V for `rows` <= kMostFewRows rows; whole vectors of columns.
template <typename T, typename Value>
void add_values_to_few_rows(int rows, const Factors<T, Value>& p, std::int64_t columns,
                            const T* factor, T* out, std::int64_t stride) {
  if (rows == 1)
    add_values_of<1>(p, columns, factor, out, stride);
  else if (rows == 2)
    add_values_of<2>(p, columns, factor, out, stride);
  else
    add_values_of<4>(p, columns, factor, out, stride);
}

/// The rows of a span if they lie in one run, as products of a few rows can read them: a multiple
/// of `columns` numbers in neighbouring places. Else none.
inline Input stored_rows(const AttentionProblem& problem, const KeyOperand& from,
                         const KeySpan& span, std::int64_t columns) {
  const Input& values = from.values;
  const DType dtype = values.dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) return {};
  const KeyRun run = first_run(problem, span);
  if (values.column != 1 || falls_on_few_sets(values, from.columns) || run.count < span.count ||
      from.columns % columns != 0)
    return {};
  Input rows = values;
  rows.data = static_cast<const char*>(values.data) +
              run.offset(values, span.kv_head) * static_cast<std::int64_t>(size_bytes(dtype));
  return rows;
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
