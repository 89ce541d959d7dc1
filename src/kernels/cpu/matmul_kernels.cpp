// The functions of matmul_kernels.h, once for each instruction set.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/matmul_kernels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "kernels/cpu/matmul_kernels.h"

#include "kernels/cpu/matmul_pack-inl.h"
#include "kernels/cpu/matmul_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {

template <PanelForm kForm, StripForm kStrip>
void multiply_strips(const PanelProduct& p) {
  const std::int64_t line = whole_lines(p.depth);
  for (std::int64_t row = 0; row < p.rows;) {
    const std::int64_t strip = strip_of(p.rows - row);
    const float* a = p.a + row * line;
    float* out = p.out + row * p.out_row;
    const char* ahead = p.ahead + p.ahead_bytes * row / p.rows;
    if (strip == kLargestStrip)
      tile<kLargestStrip, kForm, kStrip>(p, a, out, ahead);
    else if (strip == 8)
      tile < kLargestStrip<8 ? 1 : 8, kForm, kStrip>(p, a, out, ahead);
    else if (strip == 4)
      tile<4, kForm, kStrip>(p, a, out, ahead);
    else if (strip == 3)
      tile<3, kForm, kStrip>(p, a, out, ahead);
    else if (strip == 2)
      tile<2, kForm, kStrip>(p, a, out, ahead);
    else
      tile<1, kForm, kStrip>(p, a, out, ahead);
    row += strip;
  }
}

void multiply(const PanelProduct& p) {
  switch (p.panels) {
    case PanelForm::kF16:
      return multiply_strips<PanelForm::kF16, StripForm::kByRow>(p);
    case PanelForm::kBF16:
      return multiply_strips<PanelForm::kBF16, StripForm::kByRow>(p);
    case PanelForm::kPairs:
      if constexpr (HWY_TARGET == HWY_AVX3)
        multiply_strips<PanelForm::kPairs, StripForm::kByRow>(p);
      return;
    case PanelForm::kF32:
      return p.strips == StripForm::kByRow
                 ? multiply_strips<PanelForm::kF32, StripForm::kByRow>(p)
                 : multiply_strips<PanelForm::kF32, StripForm::kByDepth>(p);
  }
}

// As many panels as registers take: eight chains at least hide the latency of an addition.
template <int kRows>
constexpr int kPanelsAtOnce = HWY_TARGET == HWY_AVX3 || kRows == 1 ? 4
                              : kRows == 2                         ? 3
                                                                   : 2;

template <int kRows, PanelForm kForm>
void few_rows(const FewRowsProduct& p) {
  constexpr int kPanels = kPanelsAtOnce<kRows>;
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
                                             .widen = widen,
                                             .multiply = multiply,
                                             .multiply_few = multiply_few};
  return &kKernels;
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/isa.h"

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
