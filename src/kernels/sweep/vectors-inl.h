// The vectors of the sweep: how many lanes, how many vectors a strip of rows has, and the
// primitives that all of its products share. Included once for each target.
#if defined(HEED_SWEEP_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_VECTORS_INL_H
#undef HEED_SWEEP_VECTORS_INL_H
#else
#define HEED_SWEEP_VECTORS_INL_H
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/sweep/tile.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vec = hn::Vec<Tag<T>>;
template <typename T>
constexpr int kLanes = HWY_LANES(T);

/// Query rows are in the lanes, a strip of them in this many vectors: with 16 registers 6 x 2
/// sums, 2 lines and a broadcast fit; with 32, 6 x 4.
constexpr int kStripVectors = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SCALAR ? 2 : 4;
template <typename T>
constexpr int kStripRows = kStripVectors * kLanes<T>;

/// sum + a b. As an instruction on AVX2: g++ 12 loads b again for every product of the intrinsic,
/// or moves and spills sums (70 to 90 of 104 GFLOP/s on a Zen 3, 94 to 100 this way).
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

/// Keeps g++ from computing a pointer from another one: it would hold every difference in a
/// register, and run out of them.
template <typename T>
HWY_INLINE void hide_origin(T*& pointer) {
  asm("" : "+r"(pointer));
}

/// Four rows times `factor`, a number or one for each column, to four columns: to[c * to_row + r] =
/// factor * rows[r][c] for whole groups of four columns.
template <typename T, typename Factor>
HWY_INLINE void transpose_four(const T* const (&rows)[4], std::int64_t columns, Factor factor,
                               T* to, std::int64_t to_row) {
  constexpr bool kByColumn = std::is_pointer_v<Factor>;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    const hn::FixedTag<float, 4> d;
    const hn::Repartition<double, decltype(d)> pairs;
    for (std::int64_t x = 0; x + 4 <= columns; x += 4, to += 4 * to_row) {
      const auto read = [&](int r) HWY_ATTR {
        const auto line = hn::LoadU(d, rows[r] + x);
        if constexpr (kByColumn)
          return hn::Mul(line, hn::LoadU(d, factor + x));
        else
          return hn::Mul(line, hn::Set(d, factor));
      };
      const auto a = read(0), b = read(1), c = read(2), e = read(3);
      const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
      const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
      const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
      const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
      const auto put = [&](auto column, int at)
                           HWY_ATTR { hn::StoreU(hn::BitCast(d, column), d, to + at * to_row); };
      put(hn::InterleaveLower(pairs, ab_low, ce_low), 0);
      put(hn::InterleaveUpper(pairs, ab_low, ce_low), 1);
      put(hn::InterleaveLower(pairs, ab_high, ce_high), 2);
      put(hn::InterleaveUpper(pairs, ab_high, ce_high), 3);
    }
    return;
  }
#endif
  for (std::int64_t x = 0; x < columns / 4 * 4; ++x)
    for (int r = 0; r < 4; ++r)
      if constexpr (kByColumn)
        to[x * to_row + r] = rows[r][x] * factor[x];
      else
        to[x * to_row + r] = rows[r][x] * factor;
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
