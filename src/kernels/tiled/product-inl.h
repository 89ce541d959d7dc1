// Products of tiles, and of the visible pairs of a tile. Included once for each vector width.
#if defined(HEED_TILED_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_PRODUCT_INL_H_
#undef HEED_TILED_PRODUCT_INL_H_
#else
#define HEED_TILED_PRODUCT_INL_H_
#endif

#include "kernels/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// The term that two factors add to one element of a product.
struct Multiply {
  template <class V>
  HWY_INLINE V operator()(V a, V b, V sum) const {
    return hn::MulAdd(a, b, sum);
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

// R rows x N vectors of c (+)= a b, kept in registers over the whole depth. c is added at the end:
// added one by one, the terms of 100,000 keys would drift.
template <int R, int N, class Gather, class Tag, typename T = hn::TFromD<Tag>>
HWY_INLINE void product_block(Tag tag, const Matrix<const T>& a, const T* HWY_RESTRICT b,
                              std::int64_t b_row, std::int64_t depth, bool add, T* HWY_RESTRICT c,
                              std::int64_t c_row) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  hn::Vec<Tag> sums[R][N];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) sums[r][n] = hn::Zero(tag);
  for (std::int64_t p = 0; p < depth; ++p) {
    hn::Vec<Tag> line[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) line[n] = hn::Load(tag, b + p * b_row + n * lanes);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const auto factor = hn::Set(tag, a.at(r, p));
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sums[r][n] = Gather()(factor, line[n], sums[r][n]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      T* to = c + r * c_row + n * lanes;
      hn::Store(add ? hn::Add(hn::Load(tag, to), sums[r][n]) : sums[r][n], tag, to);
    }
}

// What a product is over: c[rows][lanes] (+)= a[rows][depth] b[depth][lanes]. b and c are
// row-major; lanes is a multiple of the vector. Every element is one chain of fma, depth rising.
struct Extent {
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t lanes;
};

// 6 x 2: 12 accumulators, 2 lines and a broadcast fit AVX2's 16 registers, and hide the latency of
// 4 cycles at 2 fma a cycle. 6 x 4 with AVX-512 and its 32: 10 loads for 24 fma instead of 16.
// With one vector of lanes 12 x 1: 6 chains would wait for each other.
template <int N, class Gather, class Tag, typename T = hn::TFromD<Tag>>
HWY_INLINE void product_lanes(Tag tag, const Extent& extent, Matrix<const T> a, const T* b,
                              std::int64_t b_row, bool add, T* c, std::int64_t c_row) {
  constexpr int kDown = N == 1 ? 12 : 6;
  std::int64_t rows = extent.rows;
  for (; rows >= kDown; rows -= kDown, a.data += kDown * a.row, c += kDown * c_row)
    product_block<kDown, N, Gather>(tag, a, b, b_row, extent.depth, add, c, c_row);
  if (rows >= 4) {
    product_block<4, N, Gather>(tag, a, b, b_row, extent.depth, add, c, c_row);
    rows -= 4, a.data += 4 * a.row, c += 4 * c_row;
  }
  for (; rows > 0; --rows, a.data += a.row, c += c_row)
    product_block<1, N, Gather>(tag, a, b, b_row, extent.depth, add, c, c_row);
}

template <typename T, class Gather = Multiply>
HWY_NOINLINE void product(const Extent& extent, const Matrix<const T>& a, const T* b,
                          std::int64_t b_row, bool add, T* c, std::int64_t c_row) {
  const hn::ScalableTag<T> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  std::int64_t lane = 0;
  if constexpr (HWY_TARGET == HWY_AVX3)
    for (; lane + 4 * lanes <= extent.lanes; lane += 4 * lanes)
      product_lanes<4, Gather>(tag, extent, a, b + lane, b_row, add, c + lane, c_row);
  for (; lane + 2 * lanes <= extent.lanes; lane += 2 * lanes)
    product_lanes<2, Gather>(tag, extent, a, b + lane, b_row, add, c + lane, c_row);
  for (; lane < extent.lanes; lane += lanes)
    product_lanes<1, Gather>(tag, extent, a, b + lane, b_row, add, c + lane, c_row);
}

// As `product`, over the visible pairs only: for partial tiles whose other factor holds NaN or
// infinity, which a weight of 0 would let through. Sums over the keys (b by key, c by row) or over
// the rows (b by row, c by key); the same bits as `product` where nothing is hidden.
enum class SumOver : std::uint8_t { kAllKeys, kAllRows };

template <typename T>
struct VisibleWeights {
  const T* data;  // [keys][64]
  const std::uint64_t* visible;
  std::int64_t keys;
  std::int64_t rows;
};

template <SumOver kOver, typename T>
void visible_product(const VisibleWeights<T>& weights, const Matrix<const T>& b,
                     std::int64_t columns, const Matrix<T>& c) {
  constexpr bool kKeysAreSummed = kOver == SumOver::kAllKeys;
  const hn::FixedTag<T, 1> one;  // rounds as the product does, with or without fused instructions
  const std::int64_t depth = kKeysAreSummed ? weights.keys : weights.rows;
  const std::int64_t lines = kKeysAreSummed ? weights.rows : weights.keys;
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t d = 0; d < columns; ++d) {
      auto sum = hn::Zero(one);
      for (std::int64_t p = 0; p < depth; ++p) {
        const std::int64_t j = kKeysAreSummed ? p : line;
        const std::int64_t i = kKeysAreSummed ? line : p;
        if ((weights.visible[j] >> i & 1) != 0)
          sum =
              hn::MulAdd(hn::Set(one, weights.data[j * kRows + i]), hn::Set(one, b.at(p, d)), sum);
      }
      c.at(line, d) += hn::GetLane(sum);
    }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_PRODUCT_INL_H_
