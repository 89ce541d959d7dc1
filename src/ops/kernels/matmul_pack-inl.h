// Packs operands of matrix products into strips and panels. Included once for each target.
#if defined(HEED_KERNELS_CPU_MATMUL_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_PACK_INL_H
#undef HEED_KERNELS_CPU_MATMUL_PACK_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_PACK_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/kernels/matmul_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {

/// The size of the next strip for `left` rows: the last two are alike. If the largest is 6, prefers
/// 4, which is multiplied by three panels at once (matmul_kernels.cpp), to 5, and never leaves 1 or
/// 2 for the end.
constexpr std::int64_t strip_of(std::int64_t left) {
  if (kLargestStrip == 6) {
    if (left == 7 || left == 8) return 4;
    if (left == 9 || left == 13) return 5;
    return left < 6 ? left : 6;
  }
  if (left <= kLargestStrip) return left;
  return left < 2 * kLargestStrip ? (left + 1) / 2 : kLargestStrip;
}

void pack_rows(const MatrixOperand<float>& a, std::int64_t rows, std::int64_t depth, StripForm form,
               float* to) {
  for (std::int64_t row = 0; row < rows;) {
    const std::int64_t strip = strip_of(rows - row);
    const float* from = a.data + row * a.row;
    float* lines = to + row * whole_lines(depth);
    if (form == StripForm::kByDepth) {
      for (std::int64_t k = 0; k < depth; ++k) {
        if (strip == kLargestStrip)
          std::memcpy(lines + k * kLargestStrip, from + k * a.column,
                      kLargestStrip * sizeof(float));
        else
          std::copy_n(from + k * a.column, strip, lines + k * strip);
      }
    } else {
      std::int64_t k = 0;
      for (; a.column == 1 && k + kLine <= depth; k += kLine)
        for (std::int64_t i = 0; i < strip; ++i, lines += kLine) {
          __builtin_prefetch(from + i * a.row + k + 16 * kLine);
          std::memcpy(lines, from + i * a.row + k, kLine * sizeof(float));
        }
      for (std::int64_t i = 0; i < strip; ++i, lines += kLine)
        for (std::int64_t left = k; left < depth; ++left)
          lines[(left - k) / kLine * strip * kLine + (left - k) % kLine] =
              from[i * a.row + left * a.column];
    }
    row += strip;
  }
}

// Transposes four lines along k to four columns of a panel; the rest of the depth one by one.
HWY_INLINE std::int64_t turn_four(const float* from, std::int64_t line, std::int64_t depth,
                                  float* to) {
  std::int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  for (; k + 4 <= depth; k += 4, to += 4 * kPanelColumns) {
    const auto r0 = hn::LoadU(d, from + k);
    const auto r1 = hn::LoadU(d, from + line + k);
    const auto r2 = hn::LoadU(d, from + 2 * line + k);
    const auto r3 = hn::LoadU(d, from + 3 * line + k);
    const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, r0, r1));
    const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, r2, r3));
    const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, r0, r1));
    const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, r2, r3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, low01, low23)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23)), d, to + kPanelColumns);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, high01, high23)), d,
               to + 2 * kPanelColumns);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23)), d,
               to + 3 * kPanelColumns);
  }
#else
  static_cast<void>(from);
  static_cast<void>(line);
  static_cast<void>(depth);
  static_cast<void>(to);
#endif
  return k;
}

void pack_columns(const MatrixOperand<float>& b, std::int64_t depth, std::int64_t columns,
                  float* to) {
  if (b.column == 1) {
    constexpr std::int64_t kAhead = 16;  // rows: each is a separate page if b is wide
    for (std::int64_t k = 0; k < depth; ++k, to += kPanelColumns) {
      const float* row = b.data + k * b.row;
      __builtin_prefetch(row + kAhead * b.row);
      __builtin_prefetch(row + kAhead * b.row + kPanelColumns - 1);
      if (columns == kPanelColumns) {
        std::memcpy(to, row, kPanelColumns * sizeof(float));
      } else {
        std::copy_n(row, columns, to);
        std::fill(to + columns, to + kPanelColumns, 0.0F);
      }
    }
    return;
  }
  std::int64_t j = 0;
  for (; j < columns; j += 4) {
    const std::int64_t some = std::min<std::int64_t>(4, columns - j);
    const float* from = b.data + j * b.column;
    const bool turns = some == 4 && b.row == 1;
    for (std::int64_t k = turns ? turn_four(from, b.column, depth, to + j) : 0; k < depth; ++k)
      for (std::int64_t i = 0; i < some; ++i)
        to[k * kPanelColumns + j + i] = from[i * b.column + k * b.row];
  }
  for (std::int64_t k = 0; columns < kPanelColumns && k < depth; ++k)
    std::fill(to + k * kPanelColumns + columns, to + (k + 1) * kPanelColumns, 0.0F);
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
