// Weights in panels: how they come there, once, when a model is loaded.
#include <algorithm>
#include <cstdint>

#include "base/isa.h"
#include "heed/dtype.h"
#include "heed/threads.h"
#include "ops/kernels/matmul.h"
#include "ops/kernels/matmul_kernels.h"

namespace heed::kernels {
namespace {

using cpu::matmul_kernels;

std::int64_t stored_rows(DType dtype, std::int64_t inner) {
  return dtype == DType::kBF16 ? (inner + 1) / 2 * 2 : inner;
}

// Where number (k, j) of a panel lies.
std::int64_t place(DType dtype, std::int64_t k, std::int64_t j) {
  const std::int64_t panel = panel_columns();
  return dtype == DType::kBF16 ? k / 2 * 2 * panel + 2 * j + k % 2 : k * panel + j;
}

// Columns of 16-bit numbers as they are into a panel, zeros first.
void pack_words(const std::uint16_t* from, std::int64_t row, std::int64_t column,
                std::int64_t columns, const Panels& to, std::uint16_t* panel) {
  std::fill_n(panel, stored_rows(to.dtype, to.inner) * panel_columns(), std::uint16_t{0});
  constexpr std::int64_t kTogether =
      32;  // of either axis: whichever is contiguous, lines are whole
  for (std::int64_t first = 0; first < to.inner; first += kTogether) {
    const std::int64_t last = std::min(first + kTogether, to.inner);
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t k = first; k < last; ++k)
        panel[place(to.dtype, k, j)] = from[k * row + j * column];
  }
}

}  // namespace

bool has_fast_pairs() {
#if defined(__x86_64__)
  static const bool has = [] {
    __builtin_cpu_init();
    return allowed_isa() >= Isa::kAvx512Bf16 && __builtin_cpu_supports("avx512bf16") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_is("amd") != 0 &&
           matmul_kernels().multiplies_pairs;
  }();
  return has;
#else
  return false;
#endif
}

std::int64_t panel_columns() { return matmul_kernels().panel; }

std::int64_t panel_bytes(DType dtype, std::int64_t inner, std::int64_t columns) {
  const std::int64_t panel = panel_columns();
  return (columns + panel - 1) / panel * panel * stored_rows(dtype, inner) *
         static_cast<std::int64_t>(size_bytes(dtype));
}

void pack_panels(const void* from, std::int64_t row, std::int64_t column, const Panels& to,
                 void* memory) {
  const std::int64_t panel = panel_columns();
  const std::int64_t numbers = stored_rows(to.dtype, to.inner) * panel;
  parallel_for((to.columns + panel - 1) / panel, [&](std::int64_t index, int /*thread*/) {
    const std::int64_t first = index * panel;
    const std::int64_t columns = std::min(panel, to.columns - first);
    if (to.dtype == DType::kF32)
      matmul_kernels().pack_columns(
          {.data = static_cast<const float*>(from) + first * column, .row = row, .column = column},
          to.inner, columns, static_cast<float*>(memory) + index * numbers);
    else
      pack_words(static_cast<const std::uint16_t*>(from) + first * column, row, column, columns, to,
                 static_cast<std::uint16_t*>(memory) + index * numbers);
  });
}

void unpack_column(const Panels& panels, std::int64_t column, float* to) {
  const std::int64_t panel = panel_columns();
  const std::int64_t first = column / panel * panel * stored_rows(panels.dtype, panels.inner);
  for (std::int64_t k = 0; k < panels.inner; ++k) {
    const std::int64_t at = first + place(panels.dtype, k, column % panel);
    if (panels.dtype == DType::kF32)
      to[k] = static_cast<const float*>(panels.data)[at];
    else if (panels.dtype == DType::kF16)
      to[k] = static_cast<float>(static_cast<const f16*>(panels.data)[at]);
    else
      to[k] = static_cast<float>(static_cast<const bf16*>(panels.data)[at]);
  }
}

}  // namespace heed::kernels
