// One to three rows times panels, as in text generation. Included once for each target.
//
// Bound by reading weights. Each of the panels is a separate memory stream, prefetched 2 KB ahead
// and, at its end, from the next panels. One stream uses half of a Zen 3's bandwidth, four take 7 %
// longer than two for f32 on a Zen 5 (AVX2); without prefetching the next panels, one row of 768 x
// 3,072 read 70 to 84 % of the bandwidth (AVX2, now 88 to 100). Six panels of 16 bits: 75 to 85 %.
#if defined(HEED_KERNELS_CPU_MATMUL_FEW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_FEW_INL_H
#undef HEED_KERNELS_CPU_MATMUL_FEW_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_FEW_INL_H
#endif

#include <cstdint>

#include "ops/kernels/matmul_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {

// The numbers at k of unpacked rows times one row of each of kPanels panels.
template <int kRows, int kPanels, PanelForm kForm>
HWY_INLINE void add_few(const FewRowsProduct& p, const char* row, std::int64_t k, int half,
                        Vector (&sums)[kPanels][kRows][kVectors]) {
  Vector a[kRows];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) a[i] = hn::Set(Floats(), p.a[i * p.a_row + k]);
#pragma GCC unroll 4
  for (int q = 0; q < kPanels; ++q) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      const Vector b = load_panel<kForm>(row + q * p.b_panel, j, half);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) sums[q][i][j] = add_product(sums[q][i][j], a[i], b);
    }
  }
}

// One or more unpacked rows times kPanels panels side by side, each a separate memory stream.
template <int kRows, int kPanels, PanelForm kForm>
HWY_NOINLINE void few_tile(const FewRowsProduct& p, const char* panels, float* out,
                           std::int64_t columns, const float* bias) {
  constexpr int kHeld = kDepthOfRow<kForm>;
  constexpr std::int64_t kRowsAhead = 2048 / kRowBytes<kForm>;
  constexpr int kRowsOfLine = kRowBytes<kForm> < kCacheLine ? 2 : 1;
  // At the end of these panels, prefetches the beginning of the next ones.
  const std::int64_t rows = (p.depth + kHeld - 1) / kHeld;
  const std::int64_t next = (kRowsAhead - rows) * p.b_row + kPanels * p.b_panel;
  const std::int64_t turn = p.depth - kHeld * kRowsAhead;
  const Floats d;
  for (std::int64_t begin = 0; begin < p.depth; begin += kBlockDepth) {
    const std::int64_t end = begin + kBlockDepth < p.depth ? begin + kBlockDepth : p.depth;
    Vector sums[kPanels][kRows][kVectors];
#pragma GCC unroll 4
    for (int q = 0; q < kPanels; ++q) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) sums[q][i][j] = hn::Zero(d);
      }
    }
    const char* row = panels + begin / kHeld * p.b_row;
    std::int64_t k = begin;
    for (; k + kHeld <= end; k += kHeld, row += p.b_row) {
      const char* const ahead = row + (k < turn ? kRowsAhead * p.b_row : next);
      if (kRowsOfLine == 1 || k % 2 == 0) {
#pragma GCC unroll 4
        for (int q = 0; q < kPanels; ++q) {
#pragma GCC unroll 2
          for (int line = 0; line < kRowBytes<kForm>; line += kCacheLine)
            __builtin_prefetch(ahead + q * p.b_panel + line, 0, 3);
        }
      }
#pragma GCC unroll 2
      for (int half = 0; half < kHeld; ++half)
        add_few<kRows, kPanels, kForm>(p, row, k + half, half, sums);
    }
    if (k < end) add_few<kRows, kPanels, kForm>(p, row, k, 0, sums);
    const bool first = begin == 0;
#pragma GCC unroll 4
    for (int q = 0; q < kPanels; ++q) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i)
        finish_row(sums[q][i], out + i * p.out_row + q * kPanelColumns, columns - q * kPanelColumns,
                   first && bias != nullptr ? bias + q * kPanelColumns : nullptr, p.add || !first);
    }
  }
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
