// The register tile that every product of the sweep is made of. Included once for each target.
//
// An element's sum begins at 0 and runs over the depth in rising order, one fused multiply-add each,
// whatever the tile: results do not depend on how rows are grouped. It meets what was there before
// at its end: added to it one by one, 100,000 equal weights drift by 5e-4, in blocks of 64 by less
// than 1e-6.
//
// Bound by the two FMA ports. 6 x 2 vectors take 6 cycles a step on AVX2 for 12 FMA beside 8 loads.
#if defined(HEED_SWEEP_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_PRODUCT_INL_H
#undef HEED_SWEEP_PRODUCT_INL_H
#else
#define HEED_SWEEP_PRODUCT_INL_H
#endif

#include "kernels/sweep/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// What a pair of numbers adds to a sum.
struct Multiply {
  template <class V>
  HWY_INLINE V operator()(V a, V b, V sum) const {
    return add_product(a, b, sum);
  }
};
struct SubtractSquare {  // of the difference itself: |q|^2 - 2 q k + |k|^2 would cancel
  template <class V>
  HWY_INLINE V operator()(V a, V b, V sum) const {
    const V difference = hn::Sub(a, b);
    return hn::NegMulAdd(difference, difference, sum);
  }
};
struct SubtractDistance {
  template <class V>
  HWY_INLINE V operator()(V a, V b, V sum) const {
    return hn::Sub(sum, hn::Abs(hn::Sub(a, b)));
  }
};

/// How the left factor lies: element (r, k) at [r * a_row + k], or at [k * a_row + r].
enum class Left : std::uint8_t { kByRow, kByDepth };

/// The factors of a product of `depth` terms. The right one is b[k * b_row + lane].
template <typename T>
struct Factors {
  const T* a = nullptr;
  std::int64_t a_row = 0;
  const T* b = nullptr;
  std::int64_t b_row = 0;
  std::int64_t depth = 0;
};

/// sums[r][v] = the sum over k of Term(a(r, k), b(k, v)).
template <int kRows, int kVectors, Left kLeft, class Term, typename T>
HWY_INLINE void sum_terms(const Factors<T>& p, Vec<T> (&sums)[kRows][kVectors]) {
  const Tag<T> d;
  const T* rows[kRows];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    rows[r] = kLeft == Left::kByRow ? p.a + r * p.a_row : p.a + r;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  const T* b = p.b;
  const T* a = p.a;
  for (std::int64_t k = 0; k < p.depth; ++k, b += p.b_row, a += p.a_row) {
    Vec<T> line[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) line[v] = hn::LoadU(d, b + v * kLanes<T>);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const auto left = hn::Set(d, kLeft == Left::kByRow ? rows[r][k] : a[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Term()(left, line[v], sums[r][v]);
    }
  }
}

/// c[r * c_row + lane] = the product.
template <int kRows, int kVectors, Left kLeft, class Term, typename T>
HWY_NOINLINE void store_product(const Factors<T>& p, T* c, std::int64_t c_row) {
  Vec<T> sums[kRows][kVectors];
  sum_terms<kRows, kVectors, kLeft, Term, T>(p, sums);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      hn::Store(sums[r][v], Tag<T>(), c + r * c_row + v * kLanes<T>);
}

/// Whether the factor of `add_scaled_product` is one of each lane or one of each row.
enum class Scaled : std::uint8_t { kByLane, kByRow };

/// c = c factor + the product.
template <int kRows, int kVectors, Left kLeft, Scaled kScaled, typename T>
HWY_NOINLINE void add_scaled_product(const Factors<T>& p, const T* factor, T* c,
                                     std::int64_t c_row) {
  const Tag<T> d;
  Vec<T> sums[kRows][kVectors];
  sum_terms<kRows, kVectors, kLeft, Multiply, T>(p, sums);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      T* const to = c + r * c_row + v * kLanes<T>;
      const auto scale = kScaled == Scaled::kByRow ? hn::Set(d, factor[r])
                                                   : hn::Load(d, factor + v * kLanes<T>);
      hn::Store(hn::MulAdd(hn::Load(d, to), scale, sums[r][v]), d, to);
    }
}

/// Rows of a tile of `vectors` vectors: as many sums as the registers hold.
template <int kVectors>
constexpr int kDown = kVectors == 1 || (kVectors == 2 && kStripVectors == 4) ? 12 : 6;

/// The next rows of `left` that one tile takes: kDown, or 6, 4, 2 and 1 at the end. Two more than six
/// are taken as four and four: two alone have too few sums.
template <int kVectors>
constexpr std::int64_t rows_of_tile(std::int64_t left) {
  constexpr int kMost = kDown<kVectors>;
  if (left == 8) return 4;
  return left >= kMost ? kMost : left >= 6 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/// `act` with the number of rows as a type, for each tile of `rows`.
template <int kVectors, class Act>
HWY_INLINE void for_row_tiles(std::int64_t rows, const Act& act) {
  constexpr int kMost = kDown<kVectors>;
  for (std::int64_t r = 0, count; r < rows; r += count) {
    count = rows_of_tile<kVectors>(rows - r);
    if (count == kMost)
      act(r, std::integral_constant<int, kMost>());
    else if (count == 6)
      act(r, std::integral_constant<int, 6>());
    else if (count == 4)
      act(r, std::integral_constant<int, 4>());
    else if (count == 2)
      act(r, std::integral_constant<int, 2>());
    else
      act(r, std::integral_constant<int, 1>());
  }
}

/// c [rows][lanes] = a b for any number of rows. Where there are enough of them the last rows are
/// computed by the same tile, some of them twice.
template <int kVectors, Left kLeft, class Term, typename T>
HWY_INLINE void store_products_of(std::int64_t rows, const Factors<T>& p, T* c,
                                  std::int64_t c_row) {
  constexpr int kRows = kDown<kVectors>;
  const std::int64_t a_step = kLeft == Left::kByRow ? p.a_row : 1;
  if (rows < kRows)
    return for_row_tiles<kVectors>(rows, [&](std::int64_t r, auto count) HWY_ATTR {
      Factors<T> at = p;
      at.a += r * a_step;
      store_product<count, kVectors, kLeft, Term, T>(at, c + r * c_row, c_row);
    });
  for (std::int64_t r = 0; r < rows; r += kRows) {
    const std::int64_t from = r + kRows <= rows ? r : rows - kRows;
    Factors<T> at = p;
    at.a += from * a_step;
    store_product<kRows, kVectors, kLeft, Term, T>(at, c + from * c_row, c_row);
  }
}

template <Left kLeft, class Term, typename T>
HWY_INLINE void store_products(std::int64_t rows, int vectors, const Factors<T>& p, T* c,
                               std::int64_t c_row) {
  if (vectors == 1) return store_products_of<1, kLeft, Term, T>(rows, p, c, c_row);
  if (vectors == 3) {
    store_products<kLeft, Term>(rows, 2, p, c, c_row);
    Factors<T> last = p;
    last.b += 2 * kLanes<T>;
    return store_products<kLeft, Term>(rows, 1, last, c + 2 * kLanes<T>, c_row);
  }
  if (vectors == 2 || kStripVectors == 2)
    return store_products_of<2, kLeft, Term, T>(rows, p, c, c_row);
  if constexpr (kStripVectors == 4) store_products_of<4, kLeft, Term, T>(rows, p, c, c_row);
}

template <int kVectors, Left kLeft, Scaled kScaled, typename T>
HWY_INLINE void add_scaled_products_of(std::int64_t rows, const Factors<T>& p, const T* factor,
                                       T* c, std::int64_t c_row) {
  const std::int64_t a_step = kLeft == Left::kByRow ? p.a_row : 1;
  for_row_tiles<kVectors>(rows, [&](std::int64_t r, auto count) HWY_ATTR {
    Factors<T> at = p;
    at.a += r * a_step;
    add_scaled_product<count, kVectors, kLeft, kScaled, T>(
        at, kScaled == Scaled::kByRow ? factor + r : factor, c + r * c_row, c_row);
  });
}

/// c [rows][lanes] = c factor + a b.
template <Left kLeft, Scaled kScaled, typename T>
HWY_INLINE void add_scaled_products(std::int64_t rows, int vectors, const Factors<T>& p,
                                    const T* factor, T* c, std::int64_t c_row) {
  if (vectors == 1) return add_scaled_products_of<1, kLeft, kScaled, T>(rows, p, factor, c, c_row);
  if (vectors == 2 || kStripVectors == 2)
    return add_scaled_products_of<2, kLeft, kScaled, T>(rows, p, factor, c, c_row);
  if constexpr (kStripVectors == 4)
    add_scaled_products_of<4, kLeft, kScaled, T>(rows, p, factor, c, c_row);
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
