// Packs operands of matrix products into strips and panels, and operands of bf16 products into
// those of pairs. Included once for each target.
#if defined(HEED_KERNELS_CPU_MATMUL_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_PACK_INL_H
#undef HEED_KERNELS_CPU_MATMUL_PACK_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_PACK_INL_H
#endif

#include <algorithm>
#include <array>
#include <bit>
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

// Pairs of bf16.

// The nearest bf16, ties to even; NaN stays NaN.
inline std::uint32_t bf16_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return bits >> 16 | 0x40U;
  return (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
}

inline float pair_of(float low, float high) {
  return std::bit_cast<float>(bf16_bits(low) | bf16_bits(high) << 16);
}

#if HWY_TARGET == HWY_AVX3

// Lane i: the numbers i of both.
HWY_INLINE Vector pairs_of(Vector low, Vector high) {
  static constexpr auto kInTurns = [] {
    std::array<std::uint16_t, 32> order{};
    for (std::uint16_t i = 0; i < 32; ++i)
      order[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 16);
    return order;
  }();
  const hn::ScalableTag<std::uint16_t> d;
  const auto order = hn::LoadU(d, kInTurns.data());
  Vector halves;
  Vector pairs;
  asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(halves.raw) : "v"(high.raw), "v"(low.raw));
  asm("vpermw %2, %1, %0" : "=v"(pairs.raw) : "v"(order.raw), "v"(halves.raw));
  return pairs;
}

#endif

// Packs the first whole lines of pairs of a row: 32 floats become 16 pairs, written `step` apart.
// Returns the number of pairs.
HWY_INLINE std::int64_t pack_pair_lines(const float* from, std::int64_t depth, std::int64_t step,
                                        float* to) {
  std::int64_t pair = 0;
#if HWY_TARGET == HWY_AVX3
  for (; 2 * (pair + kLine) <= depth; pair += kLine, to += step) {
    const auto low = hn::LoadU(Floats(), from + 2 * pair);
    const auto high = hn::LoadU(Floats(), from + 2 * pair + kLine);
    Vector pairs;
    asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(pairs.raw) : "v"(high.raw), "v"(low.raw));
    hn::StoreU(pairs, Floats(), to);
  }
#else
  static_cast<void>(from);
  static_cast<void>(depth);
  static_cast<void>(step);
  static_cast<void>(to);
#endif
  return pair;
}

// Pairs the numbers of two lines into `count` pairs; a missing second line is zeros.
HWY_INLINE void pair_lines(const float* low, const float* high, std::int64_t count, float* to) {
  std::int64_t j = 0;
#if HWY_TARGET == HWY_AVX3
  for (; j < count; j += kVectorLanes) {
    const auto mask = hn::FirstN(Floats(), static_cast<std::size_t>(count - j));
    const auto first = hn::MaskedLoad(mask, Floats(), low + j);
    const auto second =
        high != nullptr ? hn::MaskedLoad(mask, Floats(), high + j) : hn::Zero(Floats());
    hn::BlendedStore(pairs_of(first, second), mask, Floats(), to + j);
  }
#endif
  for (; j < count; ++j) to[j] = pair_of(low[j], high != nullptr ? high[j] : 0);
}

// [k / 16][R][16], if rows of a are contiguous along k.
void pack_strip_by_row(const float* from, const MatrixOperand<float>& a, std::int64_t strip,
                       std::int64_t depth, float* lines) {
  const std::int64_t pairs = (depth + 1) / 2;
  for (std::int64_t i = 0; i < strip; ++i) {
    const float* line = from + i * a.row;
    float* out = lines + i * kLine;
    std::int64_t pair = a.column == 1 ? pack_pair_lines(line, depth, strip * kLine, out) : 0;
    for (out += pair * strip; pair < pairs; ++pair) {
      const std::int64_t k = 2 * pair;
      *out++ = pair_of(line[k * a.column], k + 1 < depth ? line[(k + 1) * a.column] : 0);
      if (pair % kLine == kLine - 1) out += (strip - 1) * kLine;
    }
  }
}

void pack_pairs(const MatrixOperand<float>& a, std::int64_t rows, std::int64_t depth,
                StripForm form, float* to) {
  const std::int64_t pairs = (depth + 1) / 2;
  for (std::int64_t row = 0; row < rows;) {
    const std::int64_t strip = strip_of(rows - row);
    const float* from = a.data + row * a.row;
    float* const lines = to + row * whole_lines(pairs);
    if (form == StripForm::kByRow) {
      pack_strip_by_row(from, a, strip, depth, lines);
    } else {
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        const float* low = from + 2 * pair * a.column;
        pair_lines(low, 2 * pair + 1 < depth ? low + a.column : nullptr, strip,
                   lines + pair * strip);
      }
    }
    row += strip;
  }
}

// Lines along k are paired first, and the pairs then transposed like floats.
void pack_column_lines(const MatrixOperand<float>& b, std::int64_t depth, std::int64_t columns,
                       float* to) {
  constexpr std::int64_t kMostPairs = kBlockDepth / 2;
  alignas(64) float lines[kPanelColumns * kMostPairs];
  const std::int64_t pairs = (depth + 1) / 2;
  for (std::int64_t j = 0; j < columns; ++j) {
    const float* line = b.data + j * b.column;
    float* const out = lines + j * pairs;
    for (std::int64_t pair = pack_pair_lines(line, depth, kLine, out); pair < pairs; ++pair)
      out[pair] = pair_of(line[2 * pair], 2 * pair + 1 < depth ? line[2 * pair + 1] : 0);
  }
  pack_columns({.data = lines, .row = 1, .column = pairs}, pairs, columns, to);
}

void pack_column_pairs(const MatrixOperand<float>& b, std::int64_t depth, std::int64_t columns,
                       float* to) {
  if (b.row == 1 && b.column != 1) return pack_column_lines(b, depth, columns, to);
  constexpr std::int64_t kAhead = 16;  // rows: each is a separate page if b is wide
  for (std::int64_t k = 0; k < depth; k += 2, to += kPanelColumns) {
    const float* low = b.data + k * b.row;
    const float* high = k + 1 < depth ? low + b.row : nullptr;
    if (b.column == 1) {
      __builtin_prefetch(low + kAhead * b.row);
      __builtin_prefetch(low + (kAhead + 1) * b.row);
      pair_lines(low, high, columns, to);
    } else {
      for (std::int64_t j = 0; j < columns; ++j)
        to[j] = pair_of(low[j * b.column], high != nullptr ? high[j * b.column] : 0);
    }
    std::fill(to + columns, to + kPanelColumns, 0.0F);
  }
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
