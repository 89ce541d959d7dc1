// The functions of matmul_kernels.h, once for each instruction set.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/matmul_kernels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "ops/kernels/matmul_kernels.h"

#include <algorithm>
#include <utility>

#include "ops/kernels/matmul_blocks-inl.h"
#include "ops/kernels/matmul_bytes-inl.h"
#include "ops/kernels/matmul_few-inl.h"
#include "ops/kernels/matmul_pack-inl.h"
#include "ops/kernels/matmul_round-inl.h"
#include "ops/kernels/matmul_row-inl.h"
#include "ops/kernels/matmul_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {

template <PanelForm kForm, StripForm kStrip, int... kLess>
void multiply_one_of(std::integer_sequence<int, kLess...> /*rows - 1*/, const PanelProduct& p,
                     std::int64_t strip, const float* a, float* out, const Ahead& ahead) {
  static constexpr void (*kTiles[])(const PanelProduct&, const float*, float*,
                                    Ahead) = {tile<kLess + 1, kForm, kStrip>...};
  kTiles[strip - 1](p, a, out, ahead);
}

// A strip times one panel.
template <PanelForm kForm, StripForm kStrip>
void multiply_strip(const PanelProduct& p, std::int64_t strip, const float* a, float* out,
                    const Ahead& ahead) {
  multiply_one_of<kForm, kStrip>(std::make_integer_sequence<int, kLargestStrip>(), p, strip, a, out,
                                 ahead);
}

template <PanelForm kForm, StripForm kStrip>
void multiply_strips(const PanelProduct& p) {
  const std::int64_t line = whole_lines(p.depth);
  for (std::int64_t row = 0; row < p.rows;) {
    const std::int64_t strip = strip_of(p.rows - row);
    const Ahead ahead = {.at = p.ahead + p.ahead_bytes * row / p.rows,
                         .step = strip * p.ahead_bytes / (p.rows * p.depth)};
    multiply_strip<kForm, kStrip>(p, strip, p.a + row * line, p.out + row * p.out_row, ahead);
    row += strip;
  }
}

// How much a tile of `work` rows times vectors prefetches, after `done`, of kTogether panels: one
// panel after the other, since several streams take longer.
Ahead share_of(const PanelProduct& p, std::int64_t done, std::int64_t work) {
  const std::int64_t bytes = kTogether * p.ahead_bytes;
  const std::int64_t whole = p.rows * kTogether * kVectors;
  const std::int64_t begin = bytes * done / whole;
  const std::int64_t step = std::max<std::int64_t>(1, bytes * work / (whole * p.depth));
  const std::int64_t left = p.ahead_bytes - begin % p.ahead_bytes;
  return {.at = p.ahead + begin / p.ahead_bytes * p.b_panel + begin % p.ahead_bytes,
          .step = step,
          .turn = left / step / 4 * 4,
          .jump = p.b_panel - p.ahead_bytes};
}

// A small strip times kTogether panels in two halves of an odd number of vectors: 12 or 9 chains
// hide the latency of an addition; the 8 or 6 of one panel do not.
template <int kRows, PanelForm kForm>
void multiply_halves(const PanelProduct& p, std::int64_t row) {
  constexpr int kHalf = kTogether * kVectors / 2;
  const float* a = p.a + row * whole_lines(p.depth);
  float* out = p.out + row * p.out_row;
  const std::int64_t done = row * 2 * kHalf;
  constexpr std::int64_t kWork = kRows * kHalf;
  tile<kRows, kForm, StripForm::kByRow, 0, kHalf>(p, a, out, share_of(p, done, kWork));
  tile<kRows, kForm, StripForm::kByRow, kHalf, kHalf>(p, a, out, share_of(p, done + kWork, kWork));
}

template <PanelForm kForm>
void multiply_by_panel(const PanelProduct& p, std::int64_t row, std::int64_t strip) {
  for (int q = 0; q < kTogether; ++q) {
    PanelProduct one = p;
    one.b = static_cast<const char*>(p.b) + q * p.b_panel;
    one.columns = p.columns - q * kPanelColumns;
    one.bias = p.bias != nullptr ? p.bias + q * kPanelColumns : nullptr;
    multiply_strip<kForm, StripForm::kByRow>(
        one, strip, p.a + row * whole_lines(p.depth), p.out + row * p.out_row + q * kPanelColumns,
        share_of(p, (row * kTogether + q * strip) * kVectors, strip * kVectors));
  }
}

template <PanelForm kForm>
void multiply_together(const PanelProduct& p) {
  for (std::int64_t row = 0; row < p.rows;) {
    const std::int64_t strip = strip_of(p.rows - row);
    if (strip == 4)
      multiply_halves<4, kForm>(p, row);
    else if (strip == 3)
      multiply_halves<3, kForm>(p, row);
    else
      multiply_by_panel<kForm>(p, row, strip);
    row += strip;
  }
}

// Three panels at once for strips of 3 or 4 rows; not for 4 rows of floats, which are limited by
// memory.
std::int64_t panels_together(std::int64_t rows, PanelForm form) {
  constexpr std::int64_t kMost = 24;  // above this, such a strip is a small part
  if (rows > kMost || (rows == 4 && form == PanelForm::kF32)) return 1;
  for (std::int64_t row = 0; row < rows; row += strip_of(rows - row))
    if (strip_of(rows - row) == 3 || strip_of(rows - row) == 4) return kTogether;
  return 1;
}

// For unpacked rows.
template <PanelForm kForm>
void multiply_form(const PanelProduct& p) {
  if constexpr (kTogether > 1) {
    if (p.columns > kPanelColumns) return multiply_together<kForm>(p);
  }
  multiply_strips<kForm, StripForm::kByRow>(p);
}

void multiply(const PanelProduct& p) {
  switch (p.panels) {
    case PanelForm::kF16:
      return multiply_form<PanelForm::kF16>(p);
    case PanelForm::kBF16:
      return multiply_form<PanelForm::kBF16>(p);
    case PanelForm::kPairs:
      if constexpr (HWY_TARGET == HWY_AVX3)
        p.strips == StripForm::kByRow ? multiply_strips<PanelForm::kPairs, StripForm::kByRow>(p)
                                      : multiply_strips<PanelForm::kPairs, StripForm::kByDepth>(p);
      return;
    case PanelForm::kF32:
      return p.strips == StripForm::kByRow
                 ? multiply_form<PanelForm::kF32>(p)
                 : multiply_strips<PanelForm::kF32, StripForm::kByDepth>(p);
  }
}

// As many panels as registers allow: at least eight chains hide the latency of an addition. One row
// of floats with AVX2 is limited by memory before four chains matter, and two streams are faster.
template <int kRows, PanelForm kForm>
constexpr int kPanelsAtOnce = HWY_TARGET == HWY_AVX3     ? 4
                              : HWY_TARGET == HWY_SCALAR ? 1
                              : kRows == 3               ? 2
                              : kRows == 2               ? 3
                              : kForm == PanelForm::kF32 ? 2
                                                         : 4;

template <int kRows, PanelForm kForm>
void few_rows(const FewRowsProduct& p) {
  constexpr int kPanels = kPanelsAtOnce<kRows, kForm>;
  const char* panels = static_cast<const char*>(p.b);
  for (std::int64_t column = 0; column < p.columns;) {
    const std::int64_t left = p.columns - column;
    const float* bias = p.bias != nullptr ? p.bias + column : nullptr;
    const bool whole = left > (kPanels - 1) * kPanelColumns;
    if (whole)
      few_tile<kRows, kPanels, kForm>(p, panels, p.out + column, left, bias);
    else
      few_tile<kRows, 1, kForm>(p, panels, p.out + column, left, bias);
    column += (whole ? kPanels : 1) * kPanelColumns;
    panels += (whole ? kPanels : 1) * p.b_panel;
  }
}

template <PanelForm kForm>
void few_of_form(const FewRowsProduct& p) {
  if (p.rows == 1) return few_rows<1, kForm>(p);
  if (p.rows == 2) return few_rows<2, kForm>(p);
  few_rows<3, kForm>(p);
}

void multiply_few(const FewRowsProduct& p) {
  if (p.panels == PanelForm::kF16) return few_of_form<PanelForm::kF16>(p);
  if (p.panels == PanelForm::kBF16) return few_of_form<PanelForm::kBF16>(p);
  few_of_form<PanelForm::kF32>(p);
}

const MatmulKernels* kernels_of_target() {
  static constexpr MatmulKernels kKernels = {.name = HWY_TARGET == HWY_AVX3   ? "cpu-avx512"
                                                     : HWY_TARGET == HWY_AVX2 ? "cpu-avx2"
                                                                              : "portable",
                                             .panel = kPanelColumns,
                                             .strip = kLargestStrip,
                                             .multiplies_pairs = HWY_TARGET == HWY_AVX3,
                                             .pack_rows = pack_rows,
                                             .pack_pairs = pack_pairs,
                                             .pack_columns = pack_columns,
                                             .pack_column_pairs = pack_column_pairs,
                                             .panels_together = panels_together,
                                             .multiply = multiply,
                                             .multiply_few = multiply_few,
                                             .read_codes = read_codes,
                                             .round_to_bytes = round_to_bytes,
                                             .round_to_digits = round_to_digits,
                                             .multiply_row_by_codes = multiply_row_by_codes,
                                             .multiply_bytes = multiply_bytes};
  return &kKernels;
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/machine.h"

namespace heed::kernels::cpu {
namespace {

HWY_EXPORT(kernels_of_target);

}  // namespace

const MatmulKernels& matmul_kernels() {
  static const MatmulKernels& kernels = []() -> const MatmulKernels& {
    allowed_isa();
    return *HWY_DYNAMIC_DISPATCH(kernels_of_target)();
  }();
  return kernels;
}

}  // namespace heed::kernels::cpu
#endif
