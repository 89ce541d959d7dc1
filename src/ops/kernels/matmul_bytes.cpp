// Products of rows that are rounded to bytes with quantised weights (matmul_bytes-inl.h).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/parallel.h"
#include "base/thread_memory.h"
#include "heed/threads.h"
#include "ops/kernels/blocks.h"
#include "ops/kernels/matmul_product.h"

namespace heed::kernels {
namespace {

using cpu::kPieceDepth;
using cpu::kPieceSlabs;
using cpu::kSlabDepth;
using cpu::RoundedSlab;

constexpr std::int64_t kRowBytes = std::int64_t{256}
                                   << 10;  // of the rows that stay in the L2 cache
constexpr float kLeast = 1e-30F;           // 127 / it is finite
constexpr float kNearest = 0x1.8p23F;  // a sum with it has the nearest whole number in its low bits

thread_local ThreadMemory bytes_memory;

RoundedSlab round_slab(const float* a, std::int8_t* bytes) {
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

}  // namespace

void matmul_bytes(const PanelsProblem& problem) {
  const cpu::Product product = cpu::product_of(problem, cpu::PanelForm::kF32);
  const std::int64_t rows = problem.rows, depth = problem.b.inner, slabs = depth / kSlabDepth;
  const std::int64_t pieces = cpu::parts_of(slabs, kPieceSlabs);
  float* const memory = bytes_memory.at_least(
      pieces * rows * (kPieceSlabs * static_cast<std::int64_t>(sizeof(RoundedSlab)) + kPieceDepth));
  auto* const rounded = reinterpret_cast<RoundedSlab*>(memory);
  auto* const bytes = reinterpret_cast<std::int8_t*>(rounded + pieces * rows * kPieceSlabs);
  in_blocks(rows, cpu::rows_of_block(depth), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t slab = 0; slab < slabs; ++slab) {
        const std::int64_t at =
            (slab / kPieceSlabs * rows + row) * kPieceSlabs + slab % kPieceSlabs;
        rounded[at] = round_slab(problem.a + row * problem.a_row + slab * kSlabDepth,
                                 bytes + at * kSlabDepth);
      }
  });

  const std::int64_t panel = panel_columns(), panel_bytes = product.panel_bytes();
  const std::int64_t panels = cpu::parts_of(problem.b.columns, panel);
  // Tasks of one row are small, so that both threads end together; those of many read b once.
  const std::int64_t tasks =
      std::clamp<std::int64_t>(panels * panel_bytes * rows / (std::int64_t{48} << 10), 1,
                               std::min(panels, 8 * std::int64_t{threads_here()}));
  const std::int64_t most_rows = std::max<std::int64_t>(4, kRowBytes / depth / 4 * 4);
  parallel_for(tasks, [&](std::int64_t task, int /*thread*/) {
    const std::int64_t column = cpu::part_begin(problem.b.columns, panel, tasks, task);
    const std::int64_t end = cpu::part_begin(problem.b.columns, panel, tasks, task + 1);
    for (std::int64_t row = 0; row < rows; row += most_rows)
      cpu::matmul_kernels().multiply_bytes(
          {.a = bytes + row * kPieceDepth,
           .slabs = rounded + row * kPieceSlabs,
           .rows_of_piece = rows,
           .rows = std::min(most_rows, rows - row),
           .type = product.type,
           .b = product.codes + column / panel * panel_bytes,
           .b_panel = panel_bytes,
           .depth = depth,
           .out = problem.out + row * problem.out_row + column,
           .out_row = problem.out_row,
           .columns = end - column,
           .bias = problem.bias != nullptr ? problem.bias + column : nullptr});
  });
}

}  // namespace heed::kernels
