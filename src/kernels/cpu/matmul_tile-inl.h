// The register tiles of matrix products. Included once a target.
//
// Accumulators: 12 x 2 vectors with AVX-512 (24, 2 of b and 1 of a: 27 of 32 registers), 6 x 2 with
// AVX2 (12 + 2 + 1 of 16). Bound by the two FMA ports: 24 cycles a step of the AVX-512 tile on a
// Zen 4, whose 512-bit instructions take both, beside 14 loads.
//
// What else it needs: rows of `out` are fetched when a tile begins, or its end waits for them; what
// comes next of b is fetched while this is used, line by line as it will be needed (one line in
// four steps left 70 % of the rate over weights from memory): 16 KB ahead into the first level for
// one strip, the panel to come for many. 6 x 4 and 8 x 3 vectors are within 2 % of 12 x 2;
// broadcasts as memory operands, within 1 %.
//
// One core of an AMD EPYC (Zen 5, two 512-bit units: 260 GFLOP/s of f32, 480 of pairs; memory 41
// GB/s), share of that, 768 x 3,072 and 3,072 x 768 (bench/peers/linear_layers.py has them all):
//   rows           1         2         3         8         12        16        512
//   f32, cached                                  91 %      92 %      92 %      90 to 95 %
//   f32, memory    97 to 100 90 to 94  90 to 91  83 to 95  88 to 93  90 %      89 to 91 %
//   bf16, memory   92 to 99  92 to 98  81 to 92  90 %      91 %      92 %      95 % (pairs)
//   f16, memory    95 %      90 to 97  93 %      88 %      92 %      91 %      87 %
// What made the difference, before and after: as many rows in a block as have their whole depth in
// the second level (2,048 x 2,048: 79 to 94 % on 512 rows), every line fetched exactly once where
// the depth is no multiple of a block (8 rows from memory: 61 to 83 %), into the first level (90 to
// 95 %), 16 rows as 8 and 8 (87 to 92 %), fetching at all for one to three rows (bf16: 88 to 95 %).
//
// The same with AVX2 (HEED_ISA=avx2: 128 GFLOP/s), 768 x 3,072:
//   rows           1         4         5         7         8         9         10, 14    13
//   f32, cached              78 %      84 to 87  89 %      93 %      90 %      94 %      92 %
//   f32, memory    88 to 100 95 to 100 94 %      79 %      84 to 89  84 %      89 to 92  89 %
//   bf16, memory   85 to 95  83 %                          87 to 89                      88 %
//   f16, memory    84 to 94  87 %                          92 %                          90 %
// Strips of 5 and 6 rows are 10 and 12 chains of a panel; 4 are 8, which two units with a latency
// of four cycles use to 80 %: 4 x 3 vectors out of three panels (8 rows: 81 to 93 %; of bf16, whose
// shifts and masks take the units too, 80 to 90). What they fetch is the same part of the panels to
// come, one panel after the other (three streams at once: 86 %, 89 this way). 5 rows were 4 and 1
// (55 %), 10 as 5 and 5 were 86 %.
#if defined(HEED_KERNELS_CPU_MATMUL_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_TILE_INL_H
#undef HEED_KERNELS_CPU_MATMUL_TILE_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_TILE_INL_H
#endif

#include <cstdint>

#include "heed/tensor/f16.h"
#include "hwy/highway.h"
#include "kernels/cpu/matmul_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Words = hn::RebindToUnsigned<Floats>;
using Vector = hn::Vec<Floats>;

constexpr int kVectorLanes = HWY_TARGET == HWY_AVX3     ? 16
                             : HWY_TARGET == HWY_AVX2   ? 8
                             : HWY_TARGET == HWY_SCALAR ? 1
                                                        : 4;
constexpr int kVectors = 2;  // of a panel
constexpr int kPanelColumns = kVectors * kVectorLanes;
constexpr int kCacheLine = 64;
constexpr int kLargestStrip = HWY_TARGET == HWY_AVX3 ? 12 : 6;
constexpr int kTogether = HWY_TARGET == HWY_AVX3 ? 1 : 3;  // panels, where strips are small

// sum + a b. As an instruction: g++ 12 loads b again for every product of the intrinsic, or moves
// and spills sums (AVX2: 70 to 90 of 104 GFLOP/s, 94 to 100 this way).
HWY_INLINE Vector add_product(Vector sum, Vector a, Vector b) {
#if HWY_TARGET == HWY_AVX3
  asm("vfmadd231ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
#elif HWY_TARGET == HWY_AVX2
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum.raw) : "x"(a.raw), "x"(b.raw));
#else
  sum = hn::MulAdd(a, b, sum);
#endif
  return sum;
}

// sum + the products of two pairs of bf16.
HWY_INLINE Vector add_pairs(Vector sum, Vector a, Vector b) {
#if HWY_TARGET == HWY_AVX3
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
#else
  static_cast<void>(a);
  static_cast<void>(b);
#endif
  return sum;
}

// How many k a row of a panel holds, as the tile counts them.
template <PanelForm kForm>
constexpr int kDepthOfRow = kForm == PanelForm::kBF16 ? 2 : 1;
template <PanelForm kForm>
constexpr std::int64_t kRowBytes = kPanelColumns * (kForm == PanelForm::kF16 ? 2 : 4);

// Vector `j` of a panel's row; of the k that it holds, the one numbered `half`.
template <PanelForm kForm>
HWY_INLINE Vector load_panel(const char* row, int j, int half) {
  const Floats d;
  if constexpr (kForm == PanelForm::kF16 && HWY_TARGET == HWY_SCALAR) {
    return hn::Set(d, static_cast<float>(reinterpret_cast<const f16*>(row)[j]));  // infinity too
  } else if constexpr (kForm == PanelForm::kF16) {
    const hn::Rebind<hwy::float16_t, Floats> f16;
    const auto* at = reinterpret_cast<const hwy::float16_t*>(row);
    return hn::PromoteTo(d, hn::LoadU(f16, at + j * kVectorLanes));
  } else if constexpr (kForm == PanelForm::kBF16) {
    const auto* at = reinterpret_cast<const std::uint32_t*>(row);
    const auto words = hn::LoadU(Words(), at + j * kVectorLanes);
    return hn::BitCast(
        d, half == 0 ? hn::ShiftLeft<16>(words) : hn::And(words, hn::Set(Words(), 0xFFFF0000U)));
  } else {
    return hn::LoadU(d, reinterpret_cast<const float*>(row) + j * kVectorLanes);
  }
}

// Adds what is there, and writes the part of a row that exists.
template <int kCount>
HWY_INLINE void finish_row(const Vector (&sums)[kCount], float* out, std::int64_t columns,
                           const float* bias, bool add) {
  const Floats d;
#pragma GCC unroll 8
  for (int j = 0; j < kCount; ++j) {
    const std::int64_t left = columns - j * kVectorLanes;
    if (left <= 0) return;
    Vector sum = sums[j];
    if (left >= kVectorLanes) {
      if (bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, bias + j * kVectorLanes));
      if (add) sum = hn::Add(sum, hn::LoadU(d, out + j * kVectorLanes));
      hn::StoreU(sum, d, out + j * kVectorLanes);
    } else {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(left));
      if (bias != nullptr) sum = hn::Add(sum, hn::MaskedLoad(mask, d, bias + j * kVectorLanes));
      if (add) sum = hn::Add(sum, hn::MaskedLoad(mask, d, out + j * kVectorLanes));
      hn::BlendedStore(sum, mask, d, out + j * kVectorLanes);
    }
  }
}

// What a tile brings near: `step` bytes for each k; at k = turn the next panel begins.
struct Ahead {
  const char* at = nullptr;
  std::int64_t step = 0, turn = -1, jump = 0;
};

// Every line for a row of a panel; of parts of panels, which several tiles share, one for a k.
template <PanelForm kForm, bool kPartOfPanels>
HWY_INLINE void bring_near(Ahead& ahead) {
  constexpr int kHeld = kDepthOfRow<kForm>;
  constexpr int kLines = kPartOfPanels ? kHeld : kRowBytes<kForm> <= kCacheLine ? 1 : 2;
  const std::int64_t line = kPartOfPanels ? ahead.step : kCacheLine;
#pragma GCC unroll 2
  for (int i = 0; i < kLines; ++i) __builtin_prefetch(ahead.at + i * line, 0, 3);
  ahead.at += kHeld * ahead.step;
}

// One row of panels times R numbers of a for each k that it holds; number(i, half) is one of them.
// Of the panels' vectors those from kFirst on.
template <int kFirst, PanelForm kForm, int kRows, int kCount, typename Number>
HWY_INLINE void add_row(const char* row, std::int64_t panel, const Number& number,
                        Vector (&sums)[kRows][kCount]) {
  const Floats d;
#pragma GCC unroll 2
  for (int half = 0; half < kDepthOfRow<kForm>; ++half) {
    // Or g++ 12 loads the next half's weights early, and spills sums.
    if constexpr (kForm == PanelForm::kBF16 && kCount > kVectors) asm volatile("" ::: "memory");
    Vector b[kCount];
#pragma GCC unroll 3
    for (int j = 0; j < kCount; ++j)
      b[j] =
          load_panel<kForm>(row + (kFirst + j) / kVectors * panel, (kFirst + j) % kVectors, half);
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      const Vector a = hn::Set(d, number(i, half));
#pragma GCC unroll 3
      for (int j = 0; j < kCount; ++j)
        sums[i][j] = kForm == PanelForm::kPairs ? add_pairs(sums[i][j], b[j], a)
                                                : add_product(sums[i][j], a, b[j]);
    }
  }
}

// A strip of kRows rows times a panel, or times kCount vectors of kTogether panels, from kFirst on.
template <int kRows, PanelForm kForm, StripForm kStrip, int kFirst = 0, int kCount = kVectors>
HWY_NOINLINE void tile(const PanelProduct& p, const float* a, float* out, Ahead ahead) {
  constexpr bool kByRow = kStrip == StripForm::kByRow;
  constexpr int kStep = 4;  // k at a time
  constexpr int kHeld = kDepthOfRow<kForm>;
  Vector sums[kRows][kCount];
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kCount; ++j) sums[i][j] = hn::Zero(Floats());
  }
  const char* b = static_cast<const char*>(p.b);
  const std::int64_t panel = p.b_panel;
  out += kFirst * kVectorLanes;
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {  // or the sums wait for them at the end
    __builtin_prefetch(out + i * p.out_row, 1);
    __builtin_prefetch(out + i * p.out_row + kCount * kVectorLanes - 1, 1);
  }
  std::int64_t k = 0;
  for (; k + kStep <= p.depth; k += kStep) {
    if (kTogether > 1 && k == ahead.turn) ahead.at += ahead.jump;
#pragma GCC unroll 4
    for (int u = 0; u < kStep; u += kHeld) {
      bring_near<kForm, kCount != kVectors>(ahead);
      add_row<kFirst, kForm>(
          b + u / kHeld * kRowBytes<kForm>, panel,
          [a, u](int i, int half)
              HWY_ATTR { return kByRow ? a[i * kLine + u + half] : a[(u + half) * kRows + i]; },
          sums);
    }
    b += kStep / kHeld * kRowBytes<kForm>;
    a += kByRow ? kStep : kStep * kRows;
    if (kByRow && (k & (kLine - 1)) == kLine - kStep) a += (kRows - 1) * kLine;
  }
  for (; k < p.depth; ++k) {
    const int half = kHeld == 2 ? static_cast<int>(k & 1) : 0;
    const Floats d;
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      const Vector number = hn::Set(d, kByRow ? a[i * kLine] : a[i]);
#pragma GCC unroll 3
      for (int j = 0; j < kCount; ++j) {
        const Vector weights =
            load_panel<kForm>(b + (kFirst + j) / kVectors * panel, (kFirst + j) % kVectors, half);
        sums[i][j] = kForm == PanelForm::kPairs ? add_pairs(sums[i][j], weights, number)
                                                : add_product(sums[i][j], number, weights);
      }
    }
    if (half == kHeld - 1) b += kRowBytes<kForm>;
    a += kByRow ? 1 : kRows;
  }
  const float* bias = p.bias != nullptr ? p.bias + kFirst * kVectorLanes : nullptr;
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i)
    finish_row(sums[i], out + i * p.out_row, p.columns - kFirst * kVectorLanes, bias, p.add);
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
