// From cotangents of a tile's similarities to those of its queries and keys. Included once for each
// target.
#if defined(HEED_SWEEP_BACKWARD_TERMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_BACKWARD_TERMS_INL_H
#undef HEED_SWEEP_BACKWARD_TERMS_INL_H
#else
#define HEED_SWEEP_BACKWARD_TERMS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "attention/sweep/product-inl.h"
#include "attention/sweep/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// Adds one pair's part of the gradient of `own` for similarities of a difference: the cotangent
/// times the derivative of the similarity. For -(own - other)^2 it is 2 (other - own), with the
/// factor 2 applied at the end; for -|own - other| it is the sign of other - own, 0 at 0.
struct SquareSlope {
  static constexpr int kTimes = 2;
  static constexpr int kSteps = 4;
  template <class V>
  HWY_INLINE V operator()(V weight, V other, V own, V sum) const {
    return hn::MulAdd(weight, hn::Sub(other, own), sum);
  }
};
struct DistanceSlope {
  static constexpr int kTimes = 1;
  static constexpr int kSteps = 1;  // with four, g++ 12 spills: 15 % more time
  template <class V>
  HWY_INLINE V operator()(V weight, V other, V own, V sum) const {
    const auto up = hn::IfThenElseZero(hn::Gt(other, own), weight);
    const auto down = hn::IfThenElseZero(hn::Lt(other, own), weight);
    return hn::Add(sum, hn::Sub(up, down));
  }
};

/// kRows rows x kVectors of c += the sum over k of Slope(a(r, k), b(k), own(r)): pair by pair,
/// since a product of large operands would cancel.
template <int kRows, int kVectors, Left kLeft, class Slope, typename T>
HWY_INLINE void add_slopes(const Factors<T>& p, const T* own, T* c, std::int64_t c_row) {
  const Tag<T> d;
  Vec<T> sums[kRows][kVectors], mine[kRows][kVectors];
  clear_sums<kRows, kVectors, T>(sums);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) mine[r][v] = hn::Load(d, own + r * c_row + v * kLanes<T>);
  LeftElements<kRows, kLeft, kTileRows, T> a(p.a, p.a_row);
  NextLines<T, 0> b(p.b, p.b_row);
  const auto add = [&](int step) HWY_ATTR __attribute__((always_inline)) {
    Vec<T> line[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) line[v] = hn::LoadU(d, b.of(step) + v * kLanes<T>);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto weight = hn::Set(d, a.of(r, step));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = Slope()(weight, line[v], mine[r][v], sums[r][v]);
    }
  };
  for_terms<Slope::kSteps>(p.depth, a, b, add);
  const auto times = hn::Set(d, T{Slope::kTimes});
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      T* const to = c + r * c_row + v * kLanes<T>;
      hn::Store(hn::MulAdd(sums[r][v], times, hn::Load(d, to)), d, to);
    }
}

template <Left kLeft, class Slope, typename T>
HWY_NOINLINE void add_slopes_across(std::int64_t rows, std::int64_t width, const Factors<T>& p,
                                    const T* own, T* c) {
  constexpr int kMost = 3;  // 6 sums, 6 own values, 2 lines and a broadcast
  constexpr int kWide = HWY_TARGET == HWY_SCALAR ? 1 : 2;
  const auto tile = [&]<int kRows, int kVectors>(std::int64_t r, std::int64_t column) HWY_ATTR
      __attribute__((always_inline)) {
        Factors<T> at = p;
        at.a += r * (kLeft == Left::kByRow ? kTileRows : 1);
        at.b += column;
        add_slopes<kRows, kVectors, kLeft, Slope>(at, own + r * width + column,
                                                  c + r * width + column, width);
      };
  std::int64_t column = 0;
  for (; column + kWide * kLanes<T> <= width; column += kWide * kLanes<T>) {
    std::int64_t r = 0;
    for (; r + kMost <= rows; r += kMost) tile.template operator()<kMost, kWide>(r, column);
    for (; r < rows; ++r) tile.template operator()<1, kWide>(r, column);
  }
  for (; column < width; column += kLanes<T>)
    for (std::int64_t r = 0; r < rows; ++r) tile.template operator()<1, 1>(r, column);
}

/// The pairs of a tile that a sum may read, when 0 times a hidden number would not be 0.
struct VisiblePairs {
  const std::uint64_t* words = nullptr;  // per key of the tile
  std::int64_t key = 0;
  std::int64_t row = 0;

  bool sees(std::int64_t j, std::int64_t i) const { return (words[key + j] >> (row + i) & 1) != 0; }
};

/// Like `products_across` and `add_slopes_across`, over visible pairs only; kByRow: the rows of
/// c are keys, and their terms query rows.
template <Left kLeft, typename T>
void add_visible_across(Similarity kind, const VisiblePairs& pairs, std::int64_t rows,
                        std::int64_t width, const Factors<T>& p, const T* own, T* c) {
  const hn::CappedTag<T, 1> one;  // rounds like the product
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t x = 0; x < width; ++x) {
      auto sum = hn::Zero(one);
      for (std::int64_t k = 0; k < p.depth; ++k) {
        const bool seen = kLeft == Left::kByRow ? pairs.sees(r, k) : pairs.sees(k, r);
        if (!seen) continue;
        const auto weight =
            hn::Set(one, kLeft == Left::kByRow ? p.a[r * p.a_row + k] : p.a[k * p.a_row + r]);
        const auto other = hn::Set(one, p.b[k * p.b_row + x]);
        if (kind == Similarity::kGaussian)
          sum = SquareSlope()(weight, other, hn::Set(one, own[r * width + x]), sum);
        else if (kind == Similarity::kAbsolute)
          sum = DistanceSlope()(weight, other, hn::Set(one, own[r * width + x]), sum);
        else
          sum = hn::MulAdd(weight, other, sum);
      }
      const T times = kind == Similarity::kGaussian ? T{2} : T{1};
      c[r * width + x] =
          hn::GetLane(hn::MulAdd(sum, hn::Set(one, times), hn::Set(one, c[r * width + x])));
    }
}

/// c += the gradients for the rows `own` from cotangents `p.a` of similarities; `p.b` are the other
/// rows of the pairs.
template <Left kLeft, typename T>
void add_similarity_gradients(Similarity kind, std::int64_t rows, std::int64_t width,
                              const Factors<T>& p, const T* own, T* c) {
  if (kind == Similarity::kGaussian)
    add_slopes_across<kLeft, SquareSlope>(rows, width, p, own, c);
  else if (kind == Similarity::kAbsolute)
    add_slopes_across<kLeft, DistanceSlope>(rows, width, p, own, c);
  else if constexpr (kLeft == Left::kByRow)  // dq of products is stored, not added
    products_across<kLeft, Into::kAdd>(rows, width, p, c);
}

/// The cosine uses x / |x|: turns the accumulated gradient of x / |x| into that of x, in place. A
/// row shorter than 1e-12 gets 0.
template <typename T>
void through_norm(const T* unit, double norm, std::int64_t columns, T* gradient) {
  // No row sees this one, which may hold NaN itself.
  if (std::all_of(gradient, gradient + columns, [](T x) { return x == 0; })) return;
  double along = 0;
  for (std::int64_t c = 0; c < columns; ++c)
    along += static_cast<double>(unit[c]) * static_cast<double>(gradient[c]);
  const double inverse = norm < 1e-12 ? 0 : 1 / norm;
  for (std::int64_t c = 0; c < columns; ++c)
    gradient[c] = static_cast<T>(
        inverse * (static_cast<double>(gradient[c]) - static_cast<double>(unit[c]) * along));
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
