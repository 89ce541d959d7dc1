// Products of a few query rows, as in a decoder's step. Included once for each target.
//
// The lanes of the scores are keys, the lanes of the output are columns of V. With rows in the
// lanes, one row would use only one lane of sixteen. The sums and their order are the same as with
// rows in the lanes.
//
// Keys and values are read in place: 16-bit and i8 numbers are widened in registers. The rows 64
// keys ahead are prefetched one at a time between the products.
//
// Lab notes. One row, one thread.
//
// AMD EPYC (Zen 5), 12 heads of 64, microseconds for 250 and for 4,000 keys. AVX-512: 47 and 1,349
// with rows in the lanes, 29 and 742 with keys in the lanes. AVX2: 52 and 2,012, then 33 and 879.
//
// AMD Zen 3 (AVX2), 32 heads over 8, D = 128, best milliseconds, alternating versions:
//
//   change                                       keys    f32           f16           i8
//   keys and values are not copied first         8,192   9.7 -> 8.4    4.9 -> 4.5
//   keys are transposed to 2 KB of memory        8,192                 4.4 -> 3.8    5.6 -> 3.7
//                                                2,048   2.0 -> 1.2    .82 -> .68
//                                                  512                 .21 -> .18
//
// The last figure is 47 of 103 GFLOP/s. Scores take 57 % of the time, P V 22 %. The transposition
// costs as much as the multiplication. With the columns of one key in the lanes it would not be
// needed, but then the sums would have another order than in the passes that recompute scores.
//
// No gain from: prefetching all rows of a tile at once (f16 5.8 ms: more lines than the core can
// have in flight), eight rows on this path (equal to rows in the lanes), four vectors of keys for
// one or two rows.
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

/// The most rows of a tile that count as few; all are in one strip.
constexpr int kMostFewRows = HWY_TARGET == HWY_SCALAR ? 0 : 4;

/// Rows that are prefetched to the L2 cache while scores are computed, kColumnsAtOnce columns of
/// one row at a time: the core can have only few lines in flight.
struct RowsAhead {
  static constexpr std::int64_t kColumnsAtOnce = 32;
  static constexpr std::int64_t kKeysAhead = 64;
  const char* data = nullptr;  // null: nothing to prefetch
  std::int64_t row_bytes = 0;
  std::int64_t lines = 0;  // cache lines per step; for i8 half a line

  RowsAhead() = default;
  /// The rows of a later tile. Past the last key the addresses are invalid, which a prefetch
  /// permits.
  explicit RowsAhead(const Input& rows) {
    if (rows.data == nullptr) return;
    const auto bytes = static_cast<std::int64_t>(size_bytes(rows.dtype));
    row_bytes = rows.row * bytes;
    data = static_cast<const char*>(rows.data) + kKeysAhead * row_bytes;
    lines = std::max<std::int64_t>(kColumnsAtOnce * bytes / 64, 1);
  }
  HWY_INLINE void fetch(std::int64_t row) const {
    if (data == nullptr) return;
    const char* const at = data + row * row_bytes;
    __builtin_prefetch(at, 0, 2);
    if (lines > 1) __builtin_prefetch(at + 64, 0, 2);
  }
  void advance() { data += data != nullptr ? lines * 64 : 0; }  // to the next columns
};

#if HWY_TARGET != HWY_SCALAR
constexpr int kKeyVectors = 2;  // as many chains per row
constexpr int kKeysAtOnce = kKeyVectors * kLanes<float>;

/// Columns of the keys that are transposed before they are multiplied, 2 KB. When each vector of
/// keys was transposed in registers, each query was broadcast for that vector alone.
constexpr std::int64_t kColumnsAtOnce = RowsAhead::kColumnsAtOnce;

/// Columns [x, x + count) of kKeysAtOnce keys from `first` on: to[column][key]. `count` is a
/// multiple of 4, for i8 of 16.
template <typename Key>
HWY_INLINE void transpose_keys(const Factors<Key, float>& p, std::int64_t first, std::int64_t x,
                               std::int64_t count, float* to) {
  const Tag<float> d;
  for (std::int64_t c = 0; c < count; c += 4)
#pragma GCC unroll 2
    for (int g = 0; g < kKeyVectors; ++g) {
      Vec<float> columns[4];
      load_columns(d, p.a + (first + g * kLanes<float>)*p.a_row + x + c, p.a_row, columns);
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u)
        hn::Store(columns[u], d, to + (c + u) * kKeysAtOnce + g * kLanes<float>);
    }
}

/// The same for i8: a word of four columns is transposed like a float, and shifts split it into
/// four vectors of integers.
HWY_INLINE void transpose_keys(const Factors<std::int8_t, float>& p, std::int64_t first,
                               std::int64_t x, std::int64_t count, float* to) {
  const Tag<float> d;
  const hn::RebindToSigned<Tag<float>> integers;
  for (std::int64_t c = 0; c < count; c += 16)
#pragma GCC unroll 2
    for (int g = 0; g < kKeyVectors; ++g) {
      const std::int64_t from = first + g * kLanes<float>;
      alignas(64) float scale[kLanes<float>];
      for (int key = 0; key < kLanes<float>; ++key) scale[key] = p.scales.of(from + key, x + c);
      const auto scales = hn::Load(d, scale);
      Vec<float> words[4];
      load_columns(d, p.a + from * p.a_row + x + c, p.a_row, words);
#pragma GCC unroll 4
      for (int word = 0; word < 4; ++word) {
        const auto four = hn::BitCast(integers, words[word]);
        const Vec<float> columns[4] = {
            hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeft<24>(four))),
            hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeft<16>(four))),
            hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeft<8>(four))),
            hn::ConvertTo(d, hn::ShiftRight<24>(four))};
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u)
          hn::Store(hn::Mul(columns[u], scales), d,
                    to + (c + 4 * word + u) * kKeysAtOnce + g * kLanes<float>);
      }
    }
}

/// Scores of kKeysAtOnce keys from `first` on for the queries of `p`; `scores` [key][stride].
template <int kRows, typename Key>
HWY_INLINE void scores_of_keys(const Factors<Key, float>& p, std::int64_t first, float* scores,
                               std::int64_t stride, RowsAhead k, RowsAhead v) {
  const Tag<float> d;
  alignas(64) float columns[kColumnsAtOnce * kKeysAtOnce];
  Vec<float> sums[kKeyVectors][kRows];
#pragma GCC unroll 2
  for (int g = 0; g < kKeyVectors; ++g) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) sums[g][i] = hn::Zero(d);
  }
  constexpr std::int64_t kStepsOfAKey = kColumnsAtOnce / kKeysAtOnce;
  const float* queries = p.b;
  for (std::int64_t x = 0; x < p.depth; x += kColumnsAtOnce) {
    const std::int64_t count = std::min(kColumnsAtOnce, p.depth - x);
    transpose_keys(p, first, x, count, columns);
    const float* column = columns;
    for (std::int64_t c = 0; c < count; ++c, column += kKeysAtOnce, queries += p.b_row) {
      if (c % kStepsOfAKey == 0) {
        k.fetch(first + c / kStepsOfAKey);
        v.fetch(first + c / kStepsOfAKey);
      }
      Vec<float> keys[kKeyVectors];
#pragma GCC unroll 2
      for (int g = 0; g < kKeyVectors; ++g) keys[g] = hn::Load(d, column + g * kLanes<float>);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const auto query = hn::Set(d, queries[i]);
#pragma GCC unroll 2
        for (int g = 0; g < kKeyVectors; ++g) sums[g][i] = add_product(keys[g], query, sums[g][i]);
      }
    }
    k.advance();
    v.advance();
  }
  alignas(64) float by_row[kRows][kKeysAtOnce];
  for (int g = 0; g < kKeyVectors; ++g)
    for (int i = 0; i < kRows; ++i) hn::Store(sums[g][i], d, by_row[i] + g * kLanes<float>);
  for (int key = 0; key < kKeysAtOnce; ++key, scores += stride) {
    hn::Store(hn::Zero(d), d, scores);  // lanes without a row
    for (int i = 0; i < kRows; ++i) scores[i] = by_row[i][key];
  }
}

template <int kRows, typename Key>
HWY_NOINLINE void scores_of_rows(const Factors<Key, float>& p, std::int64_t keys, float* scores,
                                 std::int64_t stride, const RowsAhead& k, const RowsAhead& v) {
  for (std::int64_t j = 0; j < keys; j += kKeysAtOnce) {
    const std::int64_t from = std::min(j, keys - kKeysAtOnce);  // the last block repeats some keys
    scores_of_keys<kRows>(p, from, scores + from * stride, stride, k, v);
  }
}
#endif

/// S^T = K Q^T of `rows` <= kMostFewRows rows in the first vector of a strip; false if it does not
/// support the shape.
template <typename Key, typename T>
bool scores_of_few_rows([[maybe_unused]] int rows, [[maybe_unused]] const Factors<Key, T>& p,
                        [[maybe_unused]] std::int64_t keys, [[maybe_unused]] T* scores,
                        [[maybe_unused]] std::int64_t stride,
                        [[maybe_unused]] const RowsAhead& k = {},
                        [[maybe_unused]] const RowsAhead& v = {}) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    if (keys < kKeysAtOnce || p.depth % 4 != 0) return false;
    if (rows == 1)
      scores_of_rows<1>(p, keys, scores, stride, k, v);
    else if (rows == 2)
      scores_of_rows<2>(p, keys, scores, stride, k, v);
    else
      scores_of_rows<4>(p, keys, scores, stride, k, v);
    return true;
  }
#endif
  return false;
}

/// kRows rows of out, with enough sums to hide the latency.
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

/// The same for V in i8.
template <int kRows, int kWide>
HWY_INLINE void add_scaled_values(const Factors<float, std::int8_t>& p, std::int64_t x,
                                  const float* factor, float* out, std::int64_t stride) {
  const Tag<float> d;
  Vec<float> sums[kRows][kWide];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kWide; ++v) sums[r][v] = hn::Zero(d);
  for (std::int64_t key = 0; key < p.depth; ++key) {
    Vec<float> line[kWide];
#pragma GCC unroll 8
    for (int v = 0; v < kWide; ++v) {
      const std::int64_t column = x + v * kLanes<float>;
      line[v] = hn::Mul(kernels::HWY_NAMESPACE::load_lanes(p.b + key * p.b_row + column),
                        hn::Set(d, p.scales.of(key, column)));
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto weight = hn::Set(d, p.a[key * p.a_row + r]);
#pragma GCC unroll 8
      for (int v = 0; v < kWide; ++v) sums[r][v] = add_product(weight, line[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kWide; ++v) {
      float* const to = out + r * stride + x + v * kLanes<float>;
      hn::Store(hn::MulAdd(hn::Load(d, to), hn::Set(d, factor[r]), sums[r][v]), d, to);
    }
}

template <int kRows>
void add_values_of(const Factors<float, std::int8_t>& p, std::int64_t columns, const float* factor,
                   float* out, std::int64_t stride) {
  constexpr int kWide = 8 / kRows;
  constexpr int kStep = kWide * kLanes<float>;
  std::int64_t x = 0;
  for (; x + kStep <= columns; x += kStep)
    add_scaled_values<kRows, kWide>(p, x, factor, out, stride);
  for (; x < columns; x += kLanes<float>) add_scaled_values<kRows, 1>(p, x, factor, out, stride);
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

/// Rows of keys or values in place, in their stored type; null data: not available.
struct StoredRows {
  Input rows = {};
  Scales scales = {};
};

/// Calls `use` with a pointer of the rows' type.
template <class Use>
inline void with_rows(const StoredRows& stored, const Use& use) {
  if (stored.rows.dtype == DType::kI8)
    return use(static_cast<const std::int8_t*>(stored.rows.data));
  with_type(stored.rows.dtype,
            [&]<typename Row>(Row*) HWY_ATTR { use(static_cast<const Row*>(stored.rows.data)); });
}

/// The rows of a span if they are one run that products of a few rows can read: contiguous columns,
/// their number a multiple of `columns` (i8: of 16). Else none.
inline StoredRows stored_rows(const AttentionProblem& problem, const KeyOperand& from,
                              const KeySpan& span, std::int64_t columns) {
  const Input& values = from.values;
  if (values.dtype == DType::kF64) return {};
  const KeyRun run = first_run(problem, span);
  if (values.dtype == DType::kI8) columns = std::max<std::int64_t>(columns, 16);
  if (values.column != 1 || falls_on_few_sets(values, from.columns) || run.count < span.count ||
      from.columns % columns != 0)
    return {};
  StoredRows stored = {.rows = values};
  stored.rows.data =
      static_cast<const char*>(values.data) +
      run.offset(values, span.kv_head) * static_cast<std::int64_t>(size_bytes(values.dtype));
  if (values.dtype == DType::kI8)
    stored.scales = {
        static_cast<const float*>(from.scales.data) + run.offset(from.scales, span.kv_head),
        from.scales.row, from.scales.column};
  return stored;
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
