// The register tiles of matrix products. Included once for each target.
//
// Accumulators: 12 x 2 vectors with AVX-512 (24, 2 of b and 1 of a: 27 of 32 registers), 6 x 2 with
// AVX2 (12 + 2 + 1 of 16). Bound by the two FMA ports: 24 cycles per step of the AVX-512 tile on a
// Zen 4, whose 512-bit instructions use both, with 14 loads.
//
// Prefetching: rows of `out` when a tile begins, since its end would wait for them; the next part
// of b while the current one is used, line by line in order of use (one line per four steps gave 70
// % of the rate for weights from memory): 16 KB ahead into the L1 cache for one strip, the next
// panel for many. 6 x 4 and 8 x 3 vectors are within 2 % of 12 x 2; broadcasts as memory operands,
// within 1 %.
//
// One core of an AMD EPYC (Zen 5, two 512-bit units: 240 GFLOP/s of f32, 480 of pairs; memory 41
// GB/s), share of the FMA peak, weights in the L3 cache, 768 x 768 to 2,048 x 2,048
// (bench/peers/linear_layers.py and heed bench matmul have them all, memory too):
//   rows   5      6      7      8      9      13     20     40     512
//   f32    77-84  88-92  91-94  92-94  93-95  90-93  95-96  94-96  92-97
//   f16    85-88  89-92  91-93  93-96  92-94  92-94  95-96  95-96  92-96
//   bf16   91-92  94-96  94-96  96-97  96-97  94-97  96-98  96-97  92-97
// One to three rows (matmul_few-inl.h) read 90 to 100 % of the bandwidth from memory.
// Effective changes, before and after: one call of the tile for the whole depth if strips fit,
// instead of one per block, whose end costs 130 cycles (8 rows: 88 to 93 %, all others 1 to 3);
// 16-bit panels widened in the tile at any number of rows, instead of once for all strips (40 rows
// of bf16: 90 to 97 %); a strip for each number of rows, the last two alike (9 rows were 8 and 1:
// 72 to 94 %, 13 were 12 and 1: 78 to 92); pieces of a deep panel that stay in the second level and
// what is next fetched on the way (5,632 x 2,048, 512 rows: 82 to 93 %), whose weights are read
// once for 768 rows; strips copied line by line of all their rows, with fetching (3,072 x 768, 512
// rows: 91 to 93 %); every line fetched exactly once, into the first level.
//
// The same with AVX2 (HEED_ISA=avx2: 122 GFLOP/s), 768 x 3,072 and 2,048 x 2,048:
//   rows       4         5         7         8         9         13        14        20        512
//   f32        82        89        90        96        91 to 94  93 to 95  97        97        96
//   f16        92        93        91        93        93        93        95        96        96
//   bf16       92        93 to 94  91        92 to 93  93        93        93        93        92
// Strips of 5 and 6 rows are 10 and 12 chains of a panel; 4 are 8, which two units with a latency
// of four cycles use to 80 %: 4 x 3 vectors out of three panels (8 rows: 81 to 96 %; of bf16, whose
// shifts and masks take the units too, 80 to 92). What they fetch is the same part of the panels to
// come, one panel after the other (three streams at once: 86 %, 89 this way). 5 rows were 4 and 1
// (55 %), 10 as 5 and 5 were 86 %.
#if defined(HEED_KERNELS_CPU_MATMUL_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_TILE_INL_H
#undef HEED_KERNELS_CPU_MATMUL_TILE_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_TILE_INL_H
#endif

#include <cstdint>

#include "heed/tensor.h"
#include "hwy/highway.h"
#include "ops/kernels/matmul_kernels.h"

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
constexpr int kVectors = 2;  // per panel
constexpr int kPanelColumns = kVectors * kVectorLanes;
constexpr int kCacheLine = 64;
// Without vectors, small tiles: large ones took half of the kernels' compile time.
constexpr int kLargestStrip = HWY_TARGET == HWY_AVX3 ? 12 : HWY_TARGET == HWY_SCALAR ? 2 : 6;
constexpr int kTogether =
    HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SCALAR ? 1 : 3;  // panels, for small strips

// sum + a b. As inline assembly: for the intrinsic, g++ 12 reloads b for every product, or moves
// and spills sums (AVX2: 70 to 90 of 104 GFLOP/s; 94 to 100 this way).
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

// How many k the tile counts per row of a panel.
template <PanelForm kForm>
constexpr int kDepthOfRow = kForm == PanelForm::kBF16 ? 2 : 1;
template <PanelForm kForm>
constexpr std::int64_t kRowBytes = kPanelColumns * (kForm == PanelForm::kF16 ? 2 : 4);

// Vector `j` of a panel's row; for rows with two k, the one numbered `half`.
template <PanelForm kForm>
HWY_INLINE Vector load_panel(const char* row, int j, int half) {
  const Floats d;
  if constexpr (kForm == PanelForm::kF16 && HWY_TARGET == HWY_SCALAR) {
    return hn::Set(d, static_cast<float>(reinterpret_cast<const f16*>(row)[j]));  // and infinity
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

template <int kRows, int kCount>
HWY_INLINE void clear(Vector (&sums)[kRows][kCount]) {
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kCount; ++j) sums[i][j] = hn::Zero(Floats());
  }
}

// Adds the existing output if requested, and writes the existing part of a row.
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

// The same for a tile's rows; faster if all columns exist.
template <int kRows, int kCount>
HWY_INLINE void finish(Vector (&sums)[kRows][kCount], float* out, std::int64_t out_row,
                       std::int64_t columns, const float* bias, bool add) {
  const Floats d;
  const bool whole = columns >= kCount * kVectorLanes;
  if (whole && bias != nullptr) {
#pragma GCC unroll 3
    for (int j = 0; j < kCount; ++j) {
      const Vector of_column = hn::LoadU(d, bias + j * kVectorLanes);
#pragma GCC unroll 12
      for (int i = 0; i < kRows; ++i) sums[i][j] = hn::Add(sums[i][j], of_column);
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
    float* const row = out + i * out_row;
    if (!whole) {
      finish_row(sums[i], row, columns, bias, add);
      continue;
    }
#pragma GCC unroll 3
    for (int j = 0; j < kCount; ++j) {
      if (add) sums[i][j] = hn::Add(sums[i][j], hn::LoadU(d, row + j * kVectorLanes));
      hn::StoreU(sums[i][j], d, row + j * kVectorLanes);
    }
  }
}

// What a tile prefetches: `step` bytes per k; at k = turn the next panel begins.
struct Ahead {
  const char* at = nullptr;
  std::int64_t step = 0, turn = -1, jump = 0;
};

// Nothing of floats with AVX-512, which the CPU reads ahead better by itself (8 rows of 2,048 x
// 5,632 on a Zen 4: 81 -> 97 GFLOP/s from memory; without prefetching, bf16 105 -> 91, f16 94 ->
// 82). Else every line for a row of a panel; for parts of panels, which several tiles share, one
// line per k.
template <PanelForm kForm, bool kPartOfPanels>
HWY_INLINE void bring_near(Ahead& ahead) {
  if constexpr (HWY_TARGET == HWY_AVX3 && kForm == PanelForm::kF32) return;
  constexpr int kHeld = kDepthOfRow<kForm>;
  constexpr int kLines = kPartOfPanels ? kHeld : kRowBytes<kForm> <= kCacheLine ? 1 : 2;
  const std::int64_t line = kPartOfPanels ? ahead.step : kCacheLine;
#pragma GCC unroll 2
  for (int i = 0; i < kLines; ++i) __builtin_prefetch(ahead.at + i * line, 0, 3);
  ahead.at += kHeld * ahead.step;
}

// One row of panels times R numbers of a for each k that it holds; number(i, half) is one of them.
// Uses the panels' vectors from kFirst on.
template <int kFirst, PanelForm kForm, int kRows, int kCount, typename Number>
HWY_INLINE void add_row(const char* row, std::int64_t panel, const Number& number,
                        Vector (&sums)[kRows][kCount]) {
  const Floats d;
#pragma GCC unroll 2
  for (int half = 0; half < kDepthOfRow<kForm>; ++half) {
    // Otherwise g++ 12 loads the next half's weights early, and spills sums.
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
  constexpr std::int64_t kBlock = kForm == PanelForm::kPairs ? kBlockDepth / 2 : kBlockDepth;
  const char* b = static_cast<const char*>(p.b);
  const std::int64_t panel = p.b_panel;
  const float* bias = p.bias != nullptr ? p.bias + kFirst * kVectorLanes : nullptr;
  bool add = p.add;
  out += kFirst * kVectorLanes;
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {  // otherwise the sums wait for them at the end
    __builtin_prefetch(out + i * p.out_row, 1);
    __builtin_prefetch(out + i * p.out_row + kCount * kVectorLanes - 1, 1);
  }
  for (std::int64_t k = 0, end; k < p.depth;) {
    end = k + kBlock < p.depth ? k + kBlock : p.depth;
    Vector sums[kRows][kCount];
    clear(sums);
    for (; k + kStep <= end; k += kStep) {
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
    for (; k < end; ++k) {
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
    finish(sums, out, p.out_row, p.columns - kFirst * kVectorLanes, bias, add);
    bias = nullptr;
    add = true;
  }
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
