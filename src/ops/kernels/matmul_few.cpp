// How products of few rows are divided (matmul_few-inl.h).
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/parallel.h"
#include "base/thread_memory.h"
#include "heed/threads.h"
#include "ops/kernels/blocks.h"
#include "ops/kernels/matmul_product.h"

namespace heed::kernels::cpu {
namespace {

thread_local ThreadMemory few_memory;

// Prepares a row for products with codes: divides each number by the factor by which its code is
// read too large (matmul_blocks-inl.h), and appends the sums of 16 numbers of the original row.
void prepare_row(const float* a, std::int64_t depth, const BlockType& type, float* scaled,
                 float* sums) {
  const float factors[4] = {1, 0x1p-8F, 0x1p-16F, fills_bytes(type) ? 1 : 0x1p-24F};
  for (std::int64_t k = 0; k < depth; ++k) scaled[k] = a[k] * factors[k % 4];
  for (std::int64_t k = 0; k < depth; k += 16)
    sums[k / 16] = std::accumulate(a + k, a + k + 16, 0.0F);
}

// `prepared` times adjacent columns, starting at a panel's first column.
void run_row_by_codes(const Product& product, const float* prepared, std::int64_t column,
                      std::int64_t column_end) {
  const MatmulProblem<float>& p = product.p;
  const std::int64_t bytes = product.panel_bytes();
  matmul_kernels().multiply_row_by_codes(
      {.a = prepared,
       .a_sums = prepared + p.inner,
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

// Bound by reading b (for codes also nearly by arithmetic): each task reads adjacent panels; of a
// plain b, as many panels as are read at once.
void run_few(const Product& product) {
  const bool in_codes = product.codes != nullptr;
  const std::int64_t task_bytes = std::int64_t{in_codes ? 48 : 256} << 10;
  const std::int64_t panels_at_once = in_codes ? 6 : 4;
  const MatmulProblem<float>& p = product.p;
  const std::int64_t panel = matmul_kernels().panel;
  const std::int64_t panels = parts_of(p.columns, panel);
  const std::int64_t parts = std::clamp<std::int64_t>(panels * product.panel_bytes() / task_bytes,
                                                      1, 4 * std::int64_t{threads_here()});
  const std::int64_t some =
      parts_of(parts_of(panels, parts), panels_at_once) * panels_at_once * panel;
  const std::int64_t step = product.panels != nullptr ? some : panels_at_once * panel;
  float* prepared = nullptr;
  if (in_codes) {
    prepared = few_memory.at_least((p.inner + p.inner / 16) * std::int64_t{sizeof(float)});
    prepare_row(p.a.data, p.inner, *product.type, prepared, prepared + p.inner);
  }
  parallel_for(parts_of(p.columns, some), [&](std::int64_t index, int /*thread*/) {
    const std::int64_t end = std::min((index + 1) * some, p.columns);
    if (in_codes) return run_row_by_codes(product, prepared, index * some, end);
    for (std::int64_t column = index * some; column < end; column += step)
      run_few_part(product, column, std::min(column + step, end));
  });
}

}  // namespace heed::kernels::cpu
