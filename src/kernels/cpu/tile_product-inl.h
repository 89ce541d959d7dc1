// C = or += A B for one tile in registers: both products of attention. Included once a target.
//
// 6 x 64 with AVX-512: 24 accumulators + 4 vectors of B + 1 broadcast = 29 of 32 registers;
// 6 x 16 with AVX2: 12 + 2 + 1 = 15 of 16. An element's sum runs over the depth in rising order,
// one fused multiply-add each, whatever the tile: results do not depend on how rows are grouped.
// It starts from 0 and meets C at its end: added to C one by one, 100,000 equal weights drift by
// 5e-4, in blocks of 64 by less than 1e-6.
//
// Bound by the two FMA ports: 12 cycles a step of 24 accumulators; 10 loads fit beside them. With
// operands in the L1 cache 80 to 95 % of the FMA peak was measured (a Xeon at 3.3 GHz).
// Tried there, within noise: unrolling by 2 and by 4; tiles of 5 x 64, 8 x 48 and 12 x 32; columns
// of C in the outer loop.
#if defined(HEED_KERNELS_CPU_TILE_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_TILE_PRODUCT_INL_H
#undef HEED_KERNELS_CPU_TILE_PRODUCT_INL_H
#else
#define HEED_KERNELS_CPU_TILE_PRODUCT_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/sweep/tile.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::ScalableTag<float>;
constexpr int kLanes = HWY_LANES(float);
constexpr int kPanelVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr int kPanel = kPanelVectors * kLanes;
constexpr int kStrip = 6;

/// The product is added to 0, to C, or to C times its row's factor.
enum class Onto { kZero, kAdd, kScale };

/// How A lies: [row][depth] with any row stride, or [depth][kRows] as the scores do.
enum class Left { kByRow, kByDepth };

struct Product {
  const float* a = nullptr;
  std::int64_t a_row = 0;  // kByRow only
  const float* b = nullptr;
  std::int64_t b_row = 0;
  float* c = nullptr;
  std::int64_t c_row = 0;
  std::int64_t depth = 0;
  const float* factor = nullptr;  // kScale only, one a row
};

template <int kRows, int kVectors, Left kLeft, Onto kOnto>
HWY_NOINLINE void product(const Product& p) {
  const Lanes d;
  hn::Vec<Lanes> c[kRows][kVectors];
  const float* a[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    a[i] = kLeft == Left::kByRow ? p.a + i * p.a_row : p.a + i;
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) c[i][j] = hn::Zero(d);
  }
  const float* b = p.b;
  for (std::int64_t k = 0; k < p.depth; ++k, b += p.b_row) {
    hn::Vec<Lanes> row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = hn::LoadU(d, b + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const auto left = hn::Set(d, kLeft == Left::kByRow ? a[i][k] : a[0][k * kTileRows + i]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) c[i][j] = hn::MulAdd(left, row[j], c[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    [[maybe_unused]] hn::Vec<Lanes> factor;
    if constexpr (kOnto == Onto::kScale) factor = hn::Set(d, p.factor[i]);
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      float* to = p.c + i * p.c_row + j * kLanes;
      if constexpr (kOnto == Onto::kAdd) c[i][j] = hn::Add(hn::LoadU(d, to), c[i][j]);
      if constexpr (kOnto == Onto::kScale) c[i][j] = hn::MulAdd(hn::LoadU(d, to), factor, c[i][j]);
      hn::StoreU(c[i][j], d, to);
    }
  }
}

/// One product of `rows` <= kStrip rows and `vectors` <= kPanelVectors.
template <int kRows, Left kLeft, Onto kOnto>
HWY_INLINE void product_of_width(int vectors, const Product& p) {
  if (vectors == 1) return product<kRows, 1, kLeft, kOnto>(p);
  if (vectors == 2) return product<kRows, 2, kLeft, kOnto>(p);
  if constexpr (kPanelVectors == 4) {
    if (vectors == 3) return product<kRows, 3, kLeft, kOnto>(p);
    return product<kRows, 4, kLeft, kOnto>(p);
  }
}

template <Left kLeft, Onto kOnto>
HWY_INLINE void product_of_size(std::int64_t rows, int vectors, const Product& p) {
  if (rows == 6) return product_of_width<6, kLeft, kOnto>(vectors, p);
  if (rows == 4) return product_of_width<4, kLeft, kOnto>(vectors, p);
  if (rows == 2) return product_of_width<2, kLeft, kOnto>(vectors, p);
  return product_of_width<1, kLeft, kOnto>(vectors, p);
}

/// The next strip of at most `left` rows that has an instance: 6, 4, 2 or 1.
constexpr std::int64_t strip_of(std::int64_t left) {
  return left >= kStrip ? kStrip : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
