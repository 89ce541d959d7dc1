// How products of few rows are divided and prepared (matmul_few-inl.h, matmul_row-inl.h).
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

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

// Codes that fill their bytes are multiplied as floats, except with a row in bytes.
bool needs_floats(const Product& product) {
  return product.type != nullptr && fills_bytes(*product.type) && !product.in_bytes;
}

// A row as multiply_row_by_codes wants it, in this thread's memory.
const float* prepare_row(const Product& product) {
  const float* const a = product.p.a.data;
  const std::int64_t depth = product.p.inner, slabs = depth / kSlabDepth;
  float* const memory =
      few_memory.at_least((depth + slabs * kSlabFloats) * static_cast<std::int64_t>(sizeof(float)));
  if (needs_floats(product)) {
    prepare_floats(a, depth, memory);
    return memory;
  }
  auto* const slab = reinterpret_cast<RowSlab*>(memory);
  for (std::int64_t i = 0; i < slabs; ++i)
    if (product.in_bytes)
      slab[i].rounded = matmul_kernels().round_to_bytes(a + i * kSlabDepth, slab[i].digits[0]);
    else
      matmul_kernels().round_to_digits(a + i * kSlabDepth, slab[i]);
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

bool has_few_rows(const Product& product) {
  return product.p.a.column == 1 && product.p.rows <= (product.codes != nullptr ? 1 : kFewRows);
}

bool shares_rows(const Product& product, const Product& other) {
  return product.p.a.data == other.p.a.data && product.p.a.row == other.p.a.row &&
         product.p.rows == other.p.rows && product.p.inner == other.p.inner &&
         (product.codes != nullptr) == (other.codes != nullptr) &&
         product.in_bytes == other.in_bytes && needs_floats(product) == needs_floats(other);
}

// Bound by reading b (for codes also nearly by arithmetic): each task reads adjacent panels; of a
// plain b, as many panels as are read at once.
void run_few(std::span<const Product> products) {
  const bool in_codes = products[0].codes != nullptr;
  const std::int64_t panels_at_once = in_codes ? kPanelsOfRow : 4;
  const std::int64_t panel = matmul_kernels().panel;
  struct Tasks {
    const Product& product;
    std::int64_t columns;  // of a task
    std::int64_t end;      // numbers the tasks of all products
  };
  std::vector<Tasks> tasks;
  std::int64_t count = 0;
  for (const Product& product : products) {
    const std::int64_t task_bytes = std::int64_t{in_codes ? 48 : 256} << 10;
    const std::int64_t panels = parts_of(product.p.columns, panel);
    const std::int64_t parts = std::clamp<std::int64_t>(panels * product.panel_bytes() / task_bytes,
                                                        1, 4 * std::int64_t{threads_here()});
    const std::int64_t columns =
        parts_of(parts_of(panels, parts), panels_at_once) * panels_at_once * panel;
    count += parts_of(product.p.columns, columns);
    tasks.push_back({product, columns, count});
  }
  const float* const prepared = in_codes ? prepare_row(products[0]) : nullptr;
  parallel_for(count, [&](std::int64_t index, int /*thread*/) {
    const auto of = std::ranges::upper_bound(tasks, index, {}, &Tasks::end);
    const auto& [product, columns, end] = *of;
    const std::int64_t from_last = end - index;
    const std::int64_t begin = (parts_of(product.p.columns, columns) - from_last) * columns;
    const std::int64_t column_end = std::min(begin + columns, product.p.columns);
    if (in_codes) return run_row_by_codes(product, prepared, begin, column_end);
    const std::int64_t step = product.panels != nullptr ? columns : panels_at_once * panel;
    for (std::int64_t column = begin; column < column_end; column += step)
      run_few_part(product, column, std::min(column + step, column_end));
  });
}

}  // namespace heed::kernels::cpu
