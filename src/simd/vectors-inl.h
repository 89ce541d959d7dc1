// Vectors of any width: the number of lanes, the number of vectors per strip of rows, and the
// primitives shared by all products. Included once for each target.
#if defined(HEED_SIMD_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SIMD_VECTORS_INL_H
#undef HEED_SIMD_VECTORS_INL_H
#else
#define HEED_SIMD_VECTORS_INL_H
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vec = hn::Vec<Tag<T>>;
template <typename T>
constexpr int kLanes = HWY_LANES(T);

/// Lanes are query rows, and a strip has this many vectors of them: with 16 registers 6 x 2 sums, 2
/// lines and a broadcast fit; with 32, 6 x 4.
constexpr int kStripVectors = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SCALAR ? 2 : 4;
template <typename T>
constexpr int kStripRows = kStripVectors * kLanes<T>;

/// sum + a b. As inline assembly on AVX2: for the intrinsic, g++ 12 reloads b for every product, or
/// moves and spills sums (70 to 90 of 104 GFLOP/s on a Zen 3; 94 to 100 this way).
template <typename V>
HWY_INLINE V add_product(V a, V b, V sum) {
#if HWY_TARGET == HWY_AVX2
  if constexpr (std::is_same_v<V, Vec<float>>) {
    asm("vfmadd231ps %2, %1, %0" : "+x"(sum.raw) : "x"(a.raw), "x"(b.raw));
    return sum;
  }
#endif
  return hn::MulAdd(a, b, sum);
}

/// Hides from g++ how a pointer was computed: it would keep every difference in a register, and run
/// out of registers.
template <typename T>
HWY_INLINE void hide_origin(T*& pointer) {
  asm("" : "+r"(pointer));
}

#if HWY_TARGET != HWY_SCALAR
/// Treats four vectors as rows of 4 x 4 blocks, one block per 128 bits, and transposes them.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_blocks(D d, V (&x)[4]) {
  const hn::Repartition<double, D> pairs;
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, x[0], x[1]));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, x[0], x[1]));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, x[2], x[3]));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, x[2], x[3]));
  x[0] = hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low));
  x[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low));
  x[2] = hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high));
  x[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high));
}

/// Loads 128 bits each from `from`, `from` + step, ...: four floats, or sixteen integers
/// unconverted.
template <class D, typename From>
  requires(sizeof(From) != 2)
HWY_INLINE hn::Vec<D> load_blocks(D d, const From* from, std::int64_t step) {
  if constexpr (hn::MaxLanes(d) > 8) {  // g++ 12 ends with an internal error for blends of 16 lanes
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, from + 2 * step, step), load_blocks(half, from, step));
  } else {
    const auto load = [&](int block) HWY_ATTR {
      return hn::LoadDup128(d, reinterpret_cast<const float*>(from + block * step));
    };
    if constexpr (hn::MaxLanes(d) == 4) return load(0);
    return hn::IfThenElse(hn::FirstN(d, 4), load(0), load(1));
  }
}

/// Loads four 16-bit numbers each, as floats.
template <class D, typename From>
  requires(sizeof(From) == 2)
HWY_INLINE hn::Vec<D> load_blocks(D d, const From* from, std::int64_t step) {
  using Lane = std::conditional_t<std::is_same_v<From, f16>, hwy::float16_t, hwy::bfloat16_t>;
  const hn::Rebind<Lane, D> narrow;
  const hn::FixedTag<std::uint64_t, 1> four;
  const hn::Repartition<std::uint64_t, hn::Half<D>> all;
  const auto load = [&](int block) HWY_ATTR {
    return hn::LoadU(four, reinterpret_cast<const std::uint64_t*>(from + block * step));
  };
  if constexpr (hn::MaxLanes(d) == 4) {
    return hn::PromoteTo(d, hn::BitCast(narrow, load(0)));
  } else if constexpr (hn::MaxLanes(d) == 8) {
    return hn::PromoteTo(d, hn::BitCast(narrow, hn::Combine(all, load(1), load(0))));
  } else {
    const hn::Half<decltype(all)> eight;
    const auto low = hn::Combine(eight, load(1), load(0));
    const auto high = hn::Combine(eight, load(3), load(2));
    return hn::PromoteTo(d, hn::BitCast(narrow, hn::Combine(all, high, low)));
  }
}

/// Stores floats back to memory.
template <class V>
HWY_INLINE void store_blocks(V blocks, float* to, std::int64_t step) {
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(d) == 4) {
    hn::StoreU(blocks, d, to);
  } else {
    const hn::Half<decltype(d)> half;
    constexpr auto kBlocks = static_cast<std::int64_t>(hn::MaxLanes(half) / 4);
    store_blocks(hn::LowerHalf(half, blocks), to, step);
    store_blocks(hn::UpperHalf(half, blocks), to + kBlocks * step, step);
  }
}

/// Four columns of as many rows as there are lanes: columns[u] holds number u of each row, or for
/// integers the u-th group of four.
template <class D, typename From, class V = hn::Vec<D>>
HWY_INLINE void load_columns(D d, const From* rows, std::int64_t row, V (&columns)[4]) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) columns[i] = load_blocks(d, rows + i * row, 4 * row);
  transpose_blocks(d, columns);
}
#endif

/// Transposes kRows rows to lanes, 4 or a whole vector: to[c * to_row + r] = rows[r * row + c]
/// times `factor`.
template <int kRows, typename T>
inline void rows_to_lanes(const T* rows, std::int64_t row, std::int64_t columns, T factor, T* to,
                          std::int64_t to_row) {
  std::int64_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    const hn::FixedTag<float, kRows> d;
    const auto scale = hn::Set(d, factor);
    hn::Vec<decltype(d)> four[4];
    for (; x + 4 <= columns; x += 4) {
      load_columns(d, rows + x, row, four);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) hn::StoreU(hn::Mul(four[i], scale), d, to + (x + i) * to_row);
    }
  }
#endif
  for (; x < columns; ++x)
    for (int r = 0; r < kRows; ++r) to[x * to_row + r] = rows[r * row + x] * factor;
}

/// The same for any number of rows up to the lanes of a vector; fastest for 4 and for a whole
/// vector.
template <typename T>
inline void rows_to_lanes(int count, const T* rows, std::int64_t row, std::int64_t columns,
                          T factor, T* to, std::int64_t to_row) {
  if (count == kLanes<T>) return rows_to_lanes<kLanes<T>>(rows, row, columns, factor, to, to_row);
  if (count == 4) return rows_to_lanes<4>(rows, row, columns, factor, to, to_row);
  for (std::int64_t x = 0; x < columns; ++x)
    for (int r = 0; r < count; ++r) to[x * to_row + r] = rows[r * row + x] * factor;
}

/// The same for a single row, with 0 in the other lanes. Writes whole vectors, because reading a
/// vector soon after writing only its first lane stalls.
template <typename T>
inline void row_to_first_lane(const T* row, std::int64_t columns, T factor, T* to,
                              std::int64_t to_row) {
  const Tag<T> d;
  const auto first = hn::FirstN(d, 1);
  for (std::int64_t x = 0; x < columns; ++x)
    hn::Store(hn::IfThenElseZero(first, hn::Set(d, row[x] * factor)), d, to + x * to_row);
}

/// Fills `count` numbers, a multiple of a vector's: g++ makes std::fill_n a loop over single ones.
template <typename T>
inline void fill_vectors(T* to, std::int64_t count, T value) {
  const Tag<T> d;
  const auto all = hn::Set(d, value);
  for (T* const end = to + count; to < end; to += kLanes<T>) hn::Store(all, d, to);
}

/// The inverse, for a whole vector of rows: rows[r * row + c] = from[c * from_row + r] times
/// factors[r].
template <typename T>
inline void lanes_to_rows(const T* from, std::int64_t from_row, std::int64_t columns,
                          const T* factors, T* rows, std::int64_t row) {
  std::int64_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    const Tag<float> d;
    const auto factor = hn::Load(d, factors);
    Vec<float> four[4];
    for (; x + 4 <= columns; x += 4) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) four[i] = hn::Mul(hn::Load(d, from + (x + i) * from_row), factor);
      transpose_blocks(d, four);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) store_blocks(four[i], rows + i * row + x, 4 * row);
    }
  }
#endif
  for (; x < columns; ++x)
    for (int r = 0; r < kLanes<T>; ++r) rows[r * row + x] = from[x * from_row + r] * factors[r];
}

/// Whether none of `count` numbers is an infinity or a NaN.
template <typename T>
HWY_INLINE bool all_finite(const T* from, std::int64_t count) {
  const Tag<T> d;
  auto found = hn::Zero(d);
  std::int64_t x = 0;
  for (; x + kLanes<T> <= count; x += kLanes<T>) {
    const auto value = hn::LoadU(d, from + x);
    found = hn::Or(found, hn::Sub(value, value));  // 0 where finite, else NaN
  }
  bool finite = hn::AllTrue(d, hn::Eq(found, hn::Zero(d)));
  for (; x < count; ++x) finite = finite && from[x] - from[x] == 0;
  return finite;
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
