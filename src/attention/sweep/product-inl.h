// The register tile from which every product of the sweep is built. Included once for each target.
//
// An element's sum begins at 0 and runs over the depth in ascending order with one fused
// multiply-add per term, whatever the tile: results do not depend on how rows are grouped. The
// finished sum is then added to the old value: if terms were added to the old value one by one,
// 100,000 equal weights would drift by 5e-4; in blocks of 64 they drift by less than 1e-6.
//
// Bound by the two FMA ports. 6 x 2 vectors take 6 cycles per step on AVX2 for 12 FMA and 8 loads.
#if defined(HEED_SWEEP_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_PRODUCT_INL_H
#undef HEED_SWEEP_PRODUCT_INL_H
#else
#define HEED_SWEEP_PRODUCT_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "attention/sweep/load_keys-inl.h"
#include "attention/sweep/tile.h"
#include "hwy/cache_control.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// Adds the term of a pair of numbers to a sum.
struct Multiply {
  template <class V>
  HWY_INLINE V operator()(V a, V b, V sum) const {
    return add_product(a, b, sum);
  }
};
/// Adds the terms of two pairs of bf16, those of the high halves first: each with one fused
/// multiply-add, so that sums of pairs have the same bits as sums of Multiply. The factors are
/// numbers of 32 bits, pairs in form only.
struct MultiplyPairs {
  template <class V>
  HWY_INLINE V operator()([[maybe_unused]] V a, [[maybe_unused]] V b, V sum) const {
#if HWY_TARGET == HWY_AVX3
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
#endif
    return sum;
  }
};
struct SubtractSquare {  // of the difference: |q|^2 - 2 q k + |k|^2 would cancel
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

template <class Term>
constexpr bool kMultiplies = std::is_same_v<Term, Multiply> || std::is_same_v<Term, MultiplyPairs>;

/// Layout of the left factor: element (r, k) is at [r * a_row + k], or at [k * a_row + r].
enum class Left : std::uint8_t { kByRow, kByDepth };

/// The layout of both factors; a row is 0 if it is not a constant.
struct Layout {
  Left left;
  std::int64_t a_row = 0;
  std::int64_t b_row = 0;
};

/// The scales of an i8 factor, one for kElementsPerScale columns of a row.
struct Scales {
  const float* data = nullptr;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// The factors of a product of `depth` terms. The right factor is b[k * b_row + lane]; if it is a
/// strip of queries or weights, b_row is the strip's width. One of them may be 16-bit or i8, which
/// the products of a few rows widen while reading.
template <typename A, typename B = A>
struct Factors {
  const A* a = nullptr;
  std::int64_t a_row = 0;
  const B* b = nullptr;
  std::int64_t b_row = 0;
  std::int64_t depth = 0;
  Scales scales = {};
};

/// Steps of the depth per loop iteration for a tile of many sums. Fewer iterations make the loop's
/// end easier to predict. g++ 12 spills with four steps of SubtractDistance.
template <int kSums, class Term>
constexpr int kStepsAtOnce =
    (kMultiplies<Term> && kSums >= 8) || (std::is_same_v<Term, SubtractSquare> && kSums >= 12) ? 4
                                                                                               : 1;

/// The width of a strip, if all of its vectors are used; 0 if only the caller knows it.
template <int kVectors, typename T>
constexpr std::int64_t kStripRow = kVectors == kStripVectors ? kStripRows<T> : 0;

/// Addresses of the next four lines of a factor: a pointer and distances, which a load adds at no
/// cost. kRow is the distance between two lines, or 0 if it is not a constant.
template <typename T, std::int64_t kRow>
struct NextLines {
  const T* at;
  std::int64_t one;
  std::int64_t three;
  std::int64_t four;

  HWY_INLINE NextLines(const T* from, std::int64_t row)
      : at(from), one(row), three(3 * row), four(4 * row) {
    if (kRow == 0) asm("" : "+r"(one), "+r"(three), "+r"(four));
  }
  HWY_INLINE const T* of(int step) const {
    if (kRow > 0) return at + step * kRow;
    return step == 0 ? at : step == 1 ? at + one : step == 2 ? at + 2 * one : at + three;
  }
  HWY_INLINE void advance(int by) {
    at += kRow > 0 ? by * kRow : by == 4 ? four : by * one;
    hide_origin(at);
  }
};

/// Addresses of the left factor's elements for the next terms.
template <int kRows, Left kLeft, std::int64_t kRow, typename T>
struct LeftElements : NextLines<T, kRow> {
  HWY_INLINE LeftElements(const T* a, std::int64_t a_row) : NextLines<T, kRow>(a, a_row) {}
  HWY_INLINE const T& of(int r, int step) const { return NextLines<T, kRow>::of(step)[r]; }
};
template <int kRows, std::int64_t kRow, typename T>
struct LeftElements<kRows, Left::kByRow, kRow, T> : NextLines<T, 1> {
  HWY_INLINE LeftElements(const T* a, std::int64_t a_row) : NextLines<T, 1>(a, a_row) {}
  HWY_INLINE const T& of(int r, int step) const { return this->at[r * kRow + step]; }
};
/// A pointer to every third row and two distances. Computing rows as multiples, or keeping a
/// pointer per row, needed more registers than there are.
template <int kRows, typename T>
struct LeftElements<kRows, Left::kByRow, 0, T> {
  static constexpr int kPointers = (kRows + 2) / 3;
  const T* at[kPointers];
  std::int64_t one;
  std::int64_t two;

  HWY_INLINE LeftElements(const T* a, std::int64_t a_row) : one(a_row), two(2 * a_row) {
    asm("" : "+r"(one), "+r"(two));
#pragma GCC unroll 4
    for (int i = 0; i < kPointers; ++i) {
      at[i] = a;
      hide_origin(at[i]);
      a += 3 * a_row;
    }
  }
  HWY_INLINE const T& of(int r, int step) const {
    const T* const row = at[r / 3 % kPointers] + step;
    return r % 3 == 0 ? *row : r % 3 == 1 ? row[one] : row[two];
  }
  HWY_INLINE void advance(int by) {
#pragma GCC unroll 4
    for (int i = 0; i < kPointers; ++i) {
      at[i] += by;
      hide_origin(at[i]);
    }
  }
};

template <typename T, typename B>
HWY_INLINE Vec<T> load_right(const B* b) {
  if constexpr (std::is_same_v<T, B>)
    return hn::LoadU(Tag<T>(), b);
  else
    return kernels::HWY_NAMESPACE::load_lanes(b);
}

/// Adds the next term of every sum, or the term `step` ahead.
template <int kRows, int kVectors, class Term, typename T, class Elements, typename B>
HWY_INLINE void add_terms(const Elements& a, int step, const B* b,
                          Vec<T> (&sums)[kRows][kVectors]) {
  const Tag<T> d;
  Vec<T> line[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) line[v] = load_right<T>(b + v * kLanes<T>);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    const auto left = hn::Set(d, a.of(r, step));
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Term()(left, line[v], sums[r][v]);
  }
}

struct Nothing {
  void operator()() const {}
};

template <int kRows, int kVectors, typename T>
HWY_INLINE void clear_sums(Vec<T> (&sums)[kRows][kVectors]) {
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(Tag<T>());
}

/// Calls `add(step)` for the `depth` terms of a product whose factors' next lines are `a` and `b`,
/// and `between` once for every kSteps terms.
template <int kSteps, class A, class B, class Add, class Between = Nothing>
HWY_INLINE void for_terms(std::int64_t depth, A& a, B& b, const Add& add,
                          const Between& between = {}) {
  for (; depth >= kSteps; depth -= kSteps) {
    between();
#pragma GCC unroll 4
    for (int step = 0; step < kSteps; ++step) add(step);
    a.advance(kSteps);
    b.advance(kSteps);
  }
  if constexpr (kSteps > 1)
    for (; depth > 0; --depth) {
      add(0);
      a.advance(1);
      b.advance(1);
    }
}

/// sums[r][v] += Term(a(r, k), b(k, v)) for every k. Calls `between` once for every kStepsAtOnce
/// terms.
template <int kRows, int kVectors, Layout kLayout, class Term, typename T, typename B,
          class Between = Nothing>
HWY_INLINE void add_all_terms(const Factors<T, B>& p, Vec<T> (&sums)[kRows][kVectors],
                              Between&& between = {}) {
  constexpr int kSteps = kStepsAtOnce<kRows * kVectors, Term>;
  HWY_DASSERT(kLayout.a_row == 0 || p.a_row == kLayout.a_row);
  HWY_DASSERT(kLayout.b_row == 0 || p.b_row == kLayout.b_row);
  LeftElements<kRows, kLayout.left, kLayout.a_row, T> a(p.a, p.a_row);
  NextLines<B, kLayout.b_row> b(p.b, p.b_row);
  for_terms<kSteps>(
      p.depth, a, b,
      [&](int step) HWY_ATTR __attribute__((always_inline)) {
        add_terms<kRows, kVectors, Term, T>(a, step, b.of(step), sums);
      },
      between);
}

/// sums[r][v] = the sum over k of Term(a(r, k), b(k, v)).
template <int kRows, int kVectors, Layout kLayout, class Term, typename T>
HWY_INLINE void sum_terms(const Factors<T>& p, Vec<T> (&sums)[kRows][kVectors]) {
  clear_sums<kRows, kVectors, T>(sums);
  add_all_terms<kRows, kVectors, kLayout, Term, T>(p, sums);
}

/// Whether a product replaces or is added to what is there.
enum class Into : std::uint8_t { kStore, kAdd };

/// c[r * c_row + lane] = or += the sums.
template <Into kInto, int kRows, int kVectors, typename V, typename T>
HWY_INLINE void put_sums(const V (&sums)[kRows][kVectors], T* c, std::int64_t c_row) {
  const Tag<T> d;
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      T* const to = c + v * kLanes<T>;
      hn::Store(kInto == Into::kAdd ? hn::Add(hn::Load(d, to), sums[r][v]) : sums[r][v], d, to);
    }
    c += c_row;
    hide_origin(c);
  }
}

/// top[lane] becomes the maximum of itself and the column's sums.
template <int kRows, int kVectors, typename V, typename T>
HWY_INLINE void raise_top(const V (&sums)[kRows][kVectors], T* top) {
  const Tag<T> d;
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    auto most = hn::Load(d, top + v * kLanes<T>);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) most = hn::Max(most, sums[r][v]);
    hn::Store(most, d, top + v * kLanes<T>);
  }
}

/// How the factor of `add_scaled_product` varies.
enum class Scaled : std::uint8_t { kByLane, kByRow };

/// c = c factor + the product, of Factors or of FactorRuns.
template <int kRows, int kVectors, Layout kLayout, Scaled kScaled, class Term, typename T,
          class Product>
HWY_INLINE void add_scaled_product(Product& p, const T* factor, T* c, std::int64_t c_row) {
  const Tag<T> d;
  Vec<T> sums[kRows][kVectors];
  if (kRows > 2) {  // the old output has left L1 since the last tile
    const T* ahead = c;
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      hwy::Prefetch(ahead);
      ahead += c_row;
      if (kLayout.b_row == 0) hide_origin(ahead);
    }
  }
  sum_terms<kRows, kVectors, kLayout, Term, T>(p, sums);
  Vec<T> scale[kVectors];
  if (kScaled == Scaled::kByLane) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) scale[v] = hn::Load(d, factor + v * kLanes<T>);
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      T* const to = c + v * kLanes<T>;
      if (kScaled == Scaled::kByRow) scale[v] = hn::Set(d, factor[r]);
      hn::Store(hn::MulAdd(hn::Load(d, to), scale[v], sums[r][v]), d, to);
    }
    c += c_row;
    if (kLayout.b_row == 0) hide_origin(c);
  }
}

/// Rows of a tile of `vectors` vectors, so that its sums fill the registers. Without vectors tiles
/// of 4 and 1 rows are enough: all others made the library 45 KB larger.
template <int kVectors>
constexpr int kDown = HWY_TARGET == HWY_SCALAR                                 ? 4
                      : kVectors == 1 || (kVectors == 2 && kStripVectors == 4) ? 12
                                                                               : 6;

/// How many of `left` rows the next tile takes: kDown, or 6, 4, 2 and 1 at the end. Eight rows are
/// taken as four and four, because two alone have too few sums.
template <int kVectors>
constexpr std::int64_t rows_of_tile(std::int64_t left) {
  constexpr int kMost = kDown<kVectors>;
  if (left == 8) return 4;
  if (left >= kMost) return kMost;
  if (kMost == 4) return 1;
  return left >= 6 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/// `act` with the number of rows as a type, for each tile of `rows`.
template <int kVectors, class Act>
HWY_INLINE void for_row_tiles(std::int64_t rows, const Act& act) {
  constexpr int kMost = kDown<kVectors>;
  for (std::int64_t r = 0, count; r < rows; r += count) {
    count = rows_of_tile<kVectors>(rows - r);
    if (count == kMost)
      act(r, std::integral_constant<int, kMost>());
    else if (count == 1)
      act(r, std::integral_constant<int, 1>());
    if constexpr (kMost > 4) {
      if (count == 6 && kMost != 6)
        act(r, std::integral_constant<int, 6>());
      else if (count == 4)
        act(r, std::integral_constant<int, 4>());
      else if (count == 2)
        act(r, std::integral_constant<int, 2>());
    }
  }
}

/// c [rows][lanes] = a b for any number of rows, `a` by row, b a strip. The last rows use the same
/// tiles, which compute some rows twice. All tiles are in one function, so that the next tile
/// begins while the last sums finish. If `top` is given, it becomes the maximum of itself and the
/// sums.
template <int kVectors, class Term, typename T>
HWY_NOINLINE void store_products_of(std::int64_t rows, const Factors<T>& p, T* c,
                                    std::int64_t c_row, T* top) {
  constexpr std::int64_t kMost = kDown<kVectors>;
  std::int64_t r = 0;
  const auto tile = [&](auto count) HWY_ATTR {
    const std::int64_t from = std::min<std::int64_t>(r, rows - count);
    Factors<T> at = p;
    at.a += from * p.a_row;
    Vec<T> sums[count][kVectors];
    sum_terms<count, kVectors, Layout{Left::kByRow, 0, kStripRow<kVectors, T>}, Term, T>(at, sums);
    put_sums<Into::kStore>(sums, c + from * c_row, c_row);
    if (kMultiplies<Term> && top != nullptr) raise_top(sums, top);
    r = from + count;
  };
  while (r < rows) {
    const std::int64_t left = rows - r;
    if (rows < 4)
      tile(std::integral_constant<int, 1>());
    else if (left <= 4 || left == 8 || rows < 6 || kMost == 4)
      tile(std::integral_constant<int, 4>());
    else if (rows < kMost)
      tile(std::integral_constant<int, std::min<std::int64_t>(kMost, 6)>());
    else
      tile(std::integral_constant<int, kMost>());
  }
}

/// The same for several strips and few rows, which one call for each strip would slow down.
template <typename T>
HWY_NOINLINE void store_products_of_strips(std::int64_t rows, int strips, const Factors<T>& p, T* c,
                                           std::int64_t c_row) {
  constexpr std::int64_t kRow = kStripRows<T>;
  for_row_tiles<kStripVectors>(
      rows, [&](std::int64_t r, auto count) HWY_ATTR __attribute__((always_inline)) {
        constexpr int kRows = decltype(count)::value;
        Factors<T> at = p;
        at.a += r * p.a_row;
        for (int i = 0; i < strips; ++i, at.b += p.depth * kRow) {
          Vec<T> sums[kRows][kStripVectors];
          sum_terms<kRows, kStripVectors, Layout{Left::kByRow, 0, kRow}, Multiply, T>(at, sums);
          put_sums<Into::kStore>(sums, c + r * c_row + i * kRow, c_row);
        }
      });
}

/// The same for a part of a strip, or for several whole strips and without `top`.
template <class Term, typename T>
HWY_INLINE void store_products(std::int64_t rows, int vectors, const Factors<T>& p, T* c,
                               std::int64_t c_row, T* top = nullptr) {
  if (vectors == 1) return store_products_of<1, Term, T>(rows, p, c, c_row, top);
  if (vectors == 3) {
    store_products<Term>(rows, 2, p, c, c_row, top);
    Factors<T> last = p;
    last.b += 2 * kLanes<T>;
    return store_products<Term>(rows, 1, last, c + 2 * kLanes<T>, c_row,
                                top == nullptr ? nullptr : top + 2 * kLanes<T>);
  }
  if (vectors < kStripVectors) return store_products_of<2, Term, T>(rows, p, c, c_row, top);
  if (vectors > kStripVectors && std::is_same_v<Term, Multiply>)
    return store_products_of_strips<T>(rows, vectors / kStripVectors, p, c, c_row);
  Factors<T> strip = p;
  for (; vectors > 0; vectors -= kStripVectors, c += kStripRows<T>) {
    store_products_of<kStripVectors, Term, T>(rows, strip, c, c_row, top);
    strip.b += strip.depth * kStripRows<T>;
  }
}

template <int kVectors, class Term, typename T>
HWY_NOINLINE void add_scaled_products_of(std::int64_t rows, const Factors<T>& p, const T* factor,
                                         T* c) {
  constexpr std::int64_t kRow = kStripRow<kVectors, T>;
  const std::int64_t c_row = kRow > 0 ? kRow : p.b_row;
  const auto tile = [&](std::int64_t r, auto count) HWY_ATTR __attribute__((always_inline)) {
    Factors<T> at = p;
    at.a += r;
    add_scaled_product<count, kVectors, Layout{Left::kByDepth, 0, kRow}, Scaled::kByLane, Term, T>(
        at, factor, c + r * c_row, c_row);
  };
  for_row_tiles<kVectors>(rows, tile);
}

/// c [rows][lanes] = c factor[lane] + a b; `a` by depth, b and c strips of one width.
template <class Term = Multiply, typename T>
HWY_INLINE void add_scaled_products(std::int64_t rows, int vectors, const Factors<T>& p,
                                    const T* factor, T* c) {
  if (vectors == 1) return add_scaled_products_of<1, Term, T>(rows, p, factor, c);
  if (vectors == 2 || kStripVectors == 2)
    return add_scaled_products_of<2, Term, T>(rows, p, factor, c);
  if constexpr (kStripVectors == 4) add_scaled_products_of<4, Term, T>(rows, p, factor, c);
}

/// c [rows][width] = or += a b, where `a` is part of a [64][64] tile, and the rows of c are `width`
/// apart, a multiple of 16.
template <Left kLeft, Into kInto, class Term = Multiply, std::int64_t kRow = kTileRows, typename T>
HWY_NOINLINE void products_across(std::int64_t rows, std::int64_t width, const Factors<T>& p,
                                  T* c) {
  std::int64_t column = 0;
  const auto panel = [&](auto vectors) HWY_ATTR __attribute__((always_inline)) {
    constexpr int kVectors = decltype(vectors)::value;
    for_row_tiles<kVectors>(
        rows, [&](std::int64_t r, auto count) HWY_ATTR __attribute__((always_inline)) {
          constexpr int kRows = decltype(count)::value;
          Factors<T> at = p;
          at.a += r * (kLeft == Left::kByRow ? kRow : 1);
          at.b += column;
          Vec<T> sums[kRows][kVectors];
          sum_terms<kRows, kVectors, Layout{kLeft, kRow}, Term, T>(at, sums);
          put_sums<kInto>(sums, c + r * width + column, width);
        });
    column += kVectors * kLanes<T>;
  };
  while (column + kStripRows<T> <= width) panel(std::integral_constant<int, kStripVectors>());
  if constexpr (kStripVectors == 4) {
    while (column + 2 * kLanes<T> <= width) panel(std::integral_constant<int, 2>());
    while (column < width) panel(std::integral_constant<int, 1>());
  }
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
