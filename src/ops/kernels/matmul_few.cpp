// How products of few rows are divided and prepared (matmul_few-inl.h, matmul_row-inl.h).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "base/thread_memory.h"
#include "heed/threads.h"
#include "ops/kernels/blocks.h"
#include "ops/kernels/matmul_product.h"

namespace heed::kernels::cpu {
namespace {

thread_local ThreadMemory few_memory;

constexpr std::int64_t kSlabFloats = sizeof(RowSlab) / sizeof(float);

// For products with codes that fill their bytes: divides each number by the factor by which its
// code is read too large (matmul_row-inl.h), and appends the sums of 32 numbers of the original
// row.
void prepare_floats(const float* a, std::int64_t depth, float* scaled) {
  constexpr float kFactors[4] = {1, 0x1p-8F, 0x1p-16F, 1};
  for (std::int64_t k = 0; k < depth; ++k) scaled[k] = a[k] * kFactors[k % 4];
  for (std::int64_t k = 0; k < depth; k += kSlabDepth)
    scaled[depth + k / kSlabDepth] = std::accumulate(a + k, a + k + kSlabDepth, 0.0F);
}

// The exponent of the least power of two of which a number with these bits is at most 0x7F7F7F,
// 127 in each digit.
std::int64_t exponent_of(std::int32_t most) {
  constexpr std::int32_t kMantissaBits = 23, kMantissa = 0x7FFFFF;
  constexpr std::int32_t kMostDigits = 2 * 0x7F7F7F & kMantissa;
  return std::max(most >> kMantissaBits, 1) - 149 + ((most & kMantissa) > kMostDigits ? 1 : 0);
}
double power_of_two(std::int64_t exponent) {
  return std::bit_cast<double>((exponent + 1023) << 52);
}

// Rounds 32 numbers to 24 bits, in three digits.
void round_to_digits(const float* a, RowSlab& slab) {
  std::int32_t most = 0;
  for (int k = 0; k < kSlabDepth; ++k)
    most = std::max(most, std::bit_cast<std::int32_t>(a[k]) & 0x7FFFFFFF);
  constexpr std::int32_t kInfinity = 0x7F800000;
  const bool is_finite = most < kInfinity;
  const std::int64_t exponent = exponent_of(most);
  const float scale = is_finite ? static_cast<float>(power_of_two(exponent))
                                : std::numeric_limits<float>::quiet_NaN();
  // A sum with it has the nearest whole number in its low bits, more by 128 in each digit.
  constexpr double kNearest = 0x1.8p52 + 0x808080;
  constexpr std::uint32_t kMiddle = 0x808080;
  const double factor = is_finite ? power_of_two(-exponent) : 0;
  std::uint32_t wholes[kSlabDepth];
  for (int k = 0; k < kSlabDepth; ++k)
    wholes[k] = static_cast<std::uint32_t>(
        std::bit_cast<std::uint64_t>(static_cast<double>(a[k]) * factor + kNearest));
  for (int digit = 0; digit < kRowDigits; ++digit)
    for (int k = 0; k < kSlabDepth; ++k)
      slab.digits[digit][k] = static_cast<std::int8_t>((wholes[k] ^ kMiddle) >> 8 * digit);
  std::int32_t sums[2] = {};
  for (int k = 0; k < kSlabDepth; ++k)
    sums[k / 16] += static_cast<std::int32_t>(wholes[k] - kMiddle);
  slab.rounded = {scale,
                  {scale * static_cast<float>(sums[0]), scale * static_cast<float>(sums[1])}};
}

// A row as multiply_row_by_codes wants it, in this thread's memory.
const float* prepare_row(const Product& product) {
  const float* const a = product.p.a.data;
  const std::int64_t depth = product.p.inner, slabs = depth / kSlabDepth;
  float* const memory =
      few_memory.at_least((depth + slabs * kSlabFloats) * static_cast<std::int64_t>(sizeof(float)));
  if (fills_bytes(*product.type)) {
    prepare_floats(a, depth, memory);
    return memory;
  }
  auto* const slab = reinterpret_cast<RowSlab*>(memory);
  for (std::int64_t i = 0; i < slabs; ++i)
    if (product.in_bytes)
      slab[i].rounded = round_to_bytes(a + i * kSlabDepth, slab[i].digits[0]);
    else
      round_to_digits(a + i * kSlabDepth, slab[i]);
  return memory;
}

// `prepared` times adjacent columns, starting at a panel's first column.
void run_row_by_codes(const Product& product, const float* prepared, std::int64_t column,
                      std::int64_t column_end) {
  const MatmulProblem<float>& p = product.p;
  const std::int64_t bytes = product.panel_bytes();
  matmul_kernels().multiply_row_by_codes(
      {.a = prepared,
       .a_sums = prepared + p.inner,
       .slabs = reinterpret_cast<const RowSlab*>(prepared),
       .digits = product.in_bytes ? 1 : kRowDigits,
       .type = product.type,
       .b = product.codes + column / matmul_kernels().panel * bytes,
       .b_panel = bytes,
       .depth = p.inner,
       .out = p.out + column,
       .columns = column_end - column,
       .bias = p.bias != nullptr ? p.bias + column : nullptr});
}

// Unpacked rows times adjacent columns, starting at a panel's first column.
void run_few_part(const Product& product, std::int64_t column, std::int64_t column_end) {
  const MatmulProblem<float>& p = product.p;
  const std::int64_t panel = matmul_kernels().panel;
  FewRowsProduct few = {.a = p.a.data,
                        .a_row = p.a.row,
                        .rows = p.rows,
                        .b = nullptr,
                        .panels = product.form,
                        .depth = p.inner,
                        .out = p.out + column,
                        .out_row = p.out_row,
                        .columns = column_end - column,
                        .bias = p.bias != nullptr ? p.bias + column : nullptr,
                        .add = p.accumulate};
  if (product.panels != nullptr) {
    few.b = product.panels + column / panel * product.panel_bytes();
    few.b_row = product.row_bytes();
    few.b_panel = product.panel_bytes();
  } else if (p.b.column == 1 && few.columns % panel == 0) {
    few.b = p.b.data + column;
    few.b_row = p.b.row * std::int64_t{sizeof(float)};
    few.b_panel = product.row_bytes();
  } else {
    float* const spare = few_memory.at_least(parts_of(few.columns, panel) * product.panel_bytes());
    for (std::int64_t some = column; some < column_end; some += panel)
      matmul_kernels().pack_columns(
          {.data = p.b.data + some * p.b.column, .row = p.b.row, .column = p.b.column}, p.inner,
          std::min(panel, column_end - some), spare + (some - column) * p.inner);
    few.b = spare;
    few.b_row = product.row_bytes();
    few.b_panel = product.panel_bytes();
  }
  matmul_kernels().multiply_few(few);
}

}  // namespace

RoundedSlab round_to_bytes(const float* a, std::int8_t* bytes) {
  constexpr float kLeast = 1e-30F;       // 127 / it is finite
  constexpr float kNearest = 0x1.8p23F;  // a sum has the nearest whole number in its low bits
  float most = 0, not_finite = 0;
  for (int k = 0; k < kSlabDepth; ++k) {
    most = std::max(most, std::abs(a[k]));
    not_finite += a[k] * 0;  // NaN for infinity and NaN
  }
  const bool is_finite = !std::isnan(not_finite);
  const float factor = most < kLeast ? 0 : 127 / most;
  std::int32_t sums[2] = {};
  for (int k = 0; k < kSlabDepth; ++k) {
    const float sum = (is_finite ? a[k] * factor : 0) + kNearest;
    bytes[k] = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(sum) & 255);
    sums[k / 16] += bytes[k];
  }
  const float scale = most / 127 + not_finite;
  return {scale, {scale * static_cast<float>(sums[0]), scale * static_cast<float>(sums[1])}};
}

// Bound by reading b (for codes also nearly by arithmetic): each task reads adjacent panels; of a
// plain b, as many panels as are read at once.
void run_few(const Product& product) {
  const bool in_codes = product.codes != nullptr;
  const std::int64_t task_bytes = std::int64_t{in_codes ? 48 : 256} << 10;
  const std::int64_t panels_at_once = in_codes ? 3 : 4;
  const MatmulProblem<float>& p = product.p;
  const std::int64_t panel = matmul_kernels().panel;
  const std::int64_t panels = parts_of(p.columns, panel);
  const std::int64_t parts = std::clamp<std::int64_t>(panels * product.panel_bytes() / task_bytes,
                                                      1, 4 * std::int64_t{threads_here()});
  const std::int64_t some =
      parts_of(parts_of(panels, parts), panels_at_once) * panels_at_once * panel;
  const std::int64_t step = product.panels != nullptr ? some : panels_at_once * panel;
  const float* const prepared = in_codes ? prepare_row(product) : nullptr;
  parallel_for(parts_of(p.columns, some), [&](std::int64_t index, int /*thread*/) {
    const std::int64_t end = std::min((index + 1) * some, p.columns);
    if (in_codes) return run_row_by_codes(product, prepared, index * some, end);
    for (std::int64_t column = index * some; column < end; column += step)
      run_few_part(product, column, std::min(column + step, end));
  });
}

}  // namespace heed::kernels::cpu
