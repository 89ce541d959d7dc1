// Products of rows that are rounded to bytes with quantised weights (matmul_bytes-inl.h).
#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "base/thread_memory.h"
#include "heed/threads.h"
#include "ops/kernels/blocks.h"
#include "ops/kernels/matmul_product.h"

namespace heed::kernels::cpu {
namespace {

constexpr std::int64_t kRowBytes = std::int64_t{256}
                                   << 10;  // of the rows that stay in the L2 cache

thread_local ThreadMemory bytes_memory;

}  // namespace

void run_by_bytes(const Product& product) {
  const MatmulProblem<float>& p = product.p;
  const std::int64_t rows = p.rows, depth = p.inner, slabs = depth / kSlabDepth;
  const std::int64_t pieces = parts_of(slabs, kPieceSlabs);
  float* const memory = bytes_memory.at_least(
      pieces * rows * (kPieceSlabs * static_cast<std::int64_t>(sizeof(RoundedSlab)) + kPieceDepth));
  auto* const rounded = reinterpret_cast<RoundedSlab*>(memory);
  auto* const bytes = reinterpret_cast<std::int8_t*>(rounded + pieces * rows * kPieceSlabs);
  in_blocks(rows, rows_of_block(depth), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t slab = 0; slab < slabs; ++slab) {
        const std::int64_t at =
            (slab / kPieceSlabs * rows + row) * kPieceSlabs + slab % kPieceSlabs;
        rounded[at] = matmul_kernels().round_to_bytes(p.a.data + row * p.a.row + slab * kSlabDepth,
                                                      bytes + at * kSlabDepth);
      }
  });

  const std::int64_t panel = panel_columns(), panel_bytes = product.panel_bytes();
  const std::int64_t panels = parts_of(p.columns, panel);
  // Tasks of one row are small, so that both threads end together; those of many read b once.
  const std::int64_t tasks =
      std::clamp<std::int64_t>(panels * panel_bytes * rows / (std::int64_t{48} << 10), 1,
                               std::min(panels, 8 * std::int64_t{threads_here()}));
  const std::int64_t most_rows = std::max<std::int64_t>(4, kRowBytes / depth / 4 * 4);
  parallel_for(tasks, [&](std::int64_t task, int /*thread*/) {
    const std::int64_t column = part_begin(p.columns, panel, tasks, task);
    const std::int64_t end = part_begin(p.columns, panel, tasks, task + 1);
    for (std::int64_t row = 0; row < rows; row += most_rows)
      matmul_kernels().multiply_bytes({.a = bytes + row * kPieceDepth,
                                       .slabs = rounded + row * kPieceSlabs,
                                       .rows_of_piece = rows,
                                       .rows = std::min(most_rows, rows - row),
                                       .type = product.type,
                                       .b = product.codes + column / panel * panel_bytes,
                                       .b_panel = panel_bytes,
                                       .depth = depth,
                                       .out = p.out + row * p.out_row + column,
                                       .out_row = p.out_row,
                                       .columns = end - column,
                                       .bias = p.bias != nullptr ? p.bias + column : nullptr});
  });
}

}  // namespace heed::kernels::cpu
