// The matrix product: how it is cut into blocks, strips and panels (matmul_kernels.h).
//
// Measured: matmul_tile-inl.h. With AVX2 (HEED_ISA=avx2) 92 to 97 % of its peak on 512 rows. oneDNN
// 2.6.3, on a Zen 4: 66 to 95 % on plain weights and 384 or 512 rows, where this had 73 to 90 %.
//
// Tried: blocks of 128 to 768 k: at 128 a strip's end costs 3 % on 8 rows, from 384 on all are
// alike; rows of a as they lie: 12 of them share a set of the first level where a row is a multiple
// of 4 KiB, so lines of 16 k are copied side by side (reckoned: 0.3 %).
#include "kernels/matmul.h"

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "heed/base/threads.h"
#include "kernels/cpu/matmul_cut.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/thread_memory.h"

namespace heed::kernels {
namespace {

using cpu::kBlockDepth;
using cpu::matmul_kernels;
using cpu::PanelForm;
using cpu::PanelProduct;
using cpu::part_begin;
using cpu::parts_of;
using cpu::StripForm;
using cpu::whole_lines;

// Strips and a panel lie in a 512 KiB cache, or panels and those to come.
constexpr std::int64_t kStripBytes = std::int64_t{400} << 10;
// Rows of a block: as many as have their whole depth there, so that `out` is not written and read
// again for each block of the depth; in 48 rows or more a panel is worth fetching.
constexpr std::int64_t kLeastRows = 48;
constexpr std::int64_t kMostRows = 96;
constexpr std::int64_t kDeepRows = 128;  // where 48 do not fit (5,632 deep: 82 to 90 % of peak)
// Of a plain b, whose panels every block of rows makes anew: strips then come from the third level,
// from front to back, two bytes a cycle.
constexpr std::int64_t kPlainRows = 768;

// From so many rows on 16-bit panels are widened once for all strips; before, in each of them.
constexpr std::int64_t kManyRows = 48;

thread_local ThreadMemory block_memory;

// A product whose b is plain, or lies in panels.
struct Product {
  MatmulProblem<float> p;
  const char* panels = nullptr;  // null: plain
  PanelForm form = PanelForm::kF32;

  // k in the units of the panel's rows as they are stored.
  std::int64_t panel_row(std::int64_t k) const {
    return form == PanelForm::kBF16 || form == PanelForm::kPairs ? (k + 1) / 2 : k;
  }
  std::int64_t row_bytes() const {
    return matmul_kernels().panel * (form == PanelForm::kF16 ? 2 : 4);
  }
  std::int64_t panel_bytes() const { return panel_row(p.inner) * row_bytes(); }
};

struct Part {
  std::int64_t row, row_end;
  std::int64_t column, column_end;  // column: a panel's first
};

std::int64_t strip_depth(const Product& product, std::int64_t depth) {
  return whole_lines(product.form == PanelForm::kPairs ? (depth + 1) / 2 : depth);
}

StripForm strip_form(const Product& product) {
  const bool by_columns = product.p.a.column != 1 && product.p.a.row == 1;
  const bool serves = product.form == PanelForm::kF32 || product.form == PanelForm::kPairs;
  return by_columns && serves ? StripForm::kByDepth : StripForm::kByRow;
}

void pack_strips(const Product& product, const Part& part, std::int64_t k, std::int64_t depth,
                 float* to) {
  MatrixOperand<float> a = product.p.a;
  a.data += part.row * a.row + k * a.column;
  const std::int64_t rows = part.row_end - part.row;
  if (product.form == PanelForm::kPairs)
    matmul_kernels().pack_pairs(a, rows, depth, strip_form(product), to);
  else
    matmul_kernels().pack_rows(a, rows, depth, strip_form(product), to);
}

// From row k of panels of `all` bytes to what is fetched meanwhile: the same rows of the next ones,
// or, where those do not fit into the second level beside these, the next block.
std::int64_t next_panels(const Product& product, std::int64_t k, std::int64_t all) {
  if (2 * all <= kStripBytes) return all;
  if (k + kBlockDepth < product.p.inner)
    return product.panel_row(kBlockDepth) * product.row_bytes();
  return all - product.panel_row(k) * product.row_bytes();
}

// The panels at `column`, rows k to k + depth; `spare` holds one of a plain b, or widened.
void find_panel(const Product& product, std::int64_t column, std::int64_t k, float* spare,
                PanelProduct& to) {
  to.panels = product.form;
  if (product.panels == nullptr) {
    MatrixOperand<float> b = product.p.b;
    b.data += k * b.row + column * b.column;
    const bool in_pairs = product.form == PanelForm::kPairs;
    const auto pack = in_pairs ? matmul_kernels().pack_column_pairs : matmul_kernels().pack_columns;
    pack(b, to.depth, to.columns, spare);
    if (in_pairs) to.depth = product.panel_row(to.depth);
    to.b = spare;
    to.ahead = reinterpret_cast<const char*>(spare);
    return;
  }
  const char* from = product.panels + column / matmul_kernels().panel * product.panel_bytes() +
                     product.panel_row(k) * product.row_bytes();
  to.b = from;
  to.ahead_bytes = product.panel_row(to.depth) * product.row_bytes();
  to.b_panel = product.panel_bytes();
  // As far ahead from every block, the last and shorter one too: no line is left out. One strip is
  // through with a panel at once; more of them share the fetching of a whole block.
  const std::int64_t rows_ahead =
      to.rows <= matmul_kernels().strip ? 128 : product.panel_row(kBlockDepth);
  const std::int64_t panels = parts_of(to.columns, matmul_kernels().panel);
  to.ahead = from + (panels > 1 ? next_panels(product, k, panels * to.b_panel)
                                : rows_ahead * product.row_bytes());
  if (product.form == PanelForm::kPairs) {
    to.depth = product.panel_row(to.depth);
  } else if (product.form != PanelForm::kF32 && to.rows >= kManyRows) {
    matmul_kernels().widen(from, product.form, to.depth, spare);
    to.b = spare;
    to.panels = PanelForm::kF32;
  }
}

// Blocks of the depth whose strips fit into the cache together: all of them where rows are few, so
// that panels are read from front to back.
void run_part(const Product& product, const Part& part) {
  const MatmulProblem<float>& p = product.p;
  const std::int64_t rows = part.row_end - part.row;
  const std::int64_t block = std::min(p.inner, kBlockDepth);
  const std::int64_t block_floats = rows * strip_depth(product, block);
  const std::int64_t blocks = (p.inner + kBlockDepth - 1) / kBlockDepth;
  const std::int64_t at_once = std::clamp<std::int64_t>(
      kStripBytes / (block_floats * std::int64_t{sizeof(float)}), 1, blocks);
  const std::int64_t panel = matmul_kernels().panel;
  const std::int64_t together =
      product.panels != nullptr ? matmul_kernels().panels_together(rows, product.form) : 1;
  float* const strips =
      block_memory.at_least((at_once * block_floats + panel * block) * std::int64_t{sizeof(float)});
  float* const spare = strips + at_once * block_floats;
  for (std::int64_t first = 0; first < blocks; first += at_once) {
    const std::int64_t last = std::min(first + at_once, blocks);
    const auto depth_of = [&](std::int64_t index) {
      return std::min(kBlockDepth, p.inner - index * kBlockDepth);
    };
    for (std::int64_t index = first; index < last; ++index)
      pack_strips(product, part, index * kBlockDepth, depth_of(index),
                  strips + (index - first) * block_floats);
    for (std::int64_t column = part.column, step; column < part.column_end; column += step) {
      step = part.column_end - column > (together - 1) * panel ? together * panel : panel;
      for (std::int64_t index = first; index < last; ++index) {
        PanelProduct one = {.a = strips + (index - first) * block_floats,
                            .strips = strip_form(product),
                            .rows = rows,
                            .depth = depth_of(index),
                            .out = p.out + part.row * p.out_row + column,
                            .out_row = p.out_row,
                            .columns = std::min(step, part.column_end - column),
                            .bias = p.bias != nullptr && index == 0 ? p.bias + column : nullptr,
                            .add = p.accumulate || index > 0};
        find_panel(product, column, index * kBlockDepth, spare, one);
        matmul_kernels().multiply(one);
      }
    }
  }
}

std::int64_t block_rows(const Product& product) {
  if (product.panels == nullptr) return kPlainRows;
  const std::int64_t row_floats = std::max<std::int64_t>(1, strip_depth(product, product.p.inner));
  const std::int64_t fit = kStripBytes / (row_floats * std::int64_t{sizeof(float)});
  return fit < kLeastRows ? kDeepRows : std::min(fit, kMostRows);
}

void run(const Product& product) {
  const MatmulProblem<float>& p = product.p;
  const cpu::Cut cut = cpu::cut_of(p.rows, p.columns, p.inner, block_rows(product));
  const auto row = [&](std::int64_t index) {
    return part_begin(p.rows, matmul_kernels().strip, cut.rows, index);
  };
  const auto column = [&](std::int64_t index) {
    return part_begin(p.columns, matmul_kernels().panel, cut.columns, index);
  };
  parallel_for(cut.rows * cut.columns, [&](std::int64_t index, int /*thread*/) {
    const std::int64_t i = index / cut.columns;
    const std::int64_t j = index % cut.columns;
    run_part(product, {row(i), row(i + 1), column(j), column(j + 1)});
  });
}

PanelForm form_of(DType dtype) {
  return dtype == DType::kF32   ? PanelForm::kF32
         : dtype == DType::kF16 ? PanelForm::kF16
                                : PanelForm::kBF16;
}

Product product_of(const PanelsProblem& problem, PanelForm form) {
  return {.p = {.rows = problem.rows,
                .columns = problem.b.columns,
                .inner = problem.b.inner,
                .a = {.data = problem.a, .row = problem.a_row, .column = 1},
                .b = {},
                .bias = problem.bias,
                .out = problem.out,
                .out_row = problem.out_row},
          .panels = static_cast<const char*>(problem.b.data),
          .form = form};
}

// Rows as they lie times columns side by side, which begin at a panel's first.
void run_few_part(const Product& product, std::int64_t column, std::int64_t column_end) {
  const MatmulProblem<float>& p = product.p;
  const std::int64_t panel = matmul_kernels().panel;
  cpu::FewRowsProduct few = {.a = p.a.data,
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
    float* const spare =
        block_memory.at_least(parts_of(few.columns, panel) * product.panel_bytes());
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

// Bound by reading b: each task reads panels that lie side by side; a plain b by as many panels as
// are read at once.
void run_few(const Product& product) {
  constexpr std::int64_t kTaskBytes = std::int64_t{256} << 10;
  constexpr std::int64_t kPanelsAtOnce = 4;
  const MatmulProblem<float>& p = product.p;
  const std::int64_t panel = matmul_kernels().panel;
  const std::int64_t panels = parts_of(p.columns, panel);
  const std::int64_t parts = std::clamp<std::int64_t>(panels * product.panel_bytes() / kTaskBytes,
                                                      1, 4 * std::int64_t{threads_here()});
  const std::int64_t some =
      parts_of(parts_of(panels, parts), kPanelsAtOnce) * kPanelsAtOnce * panel;
  const std::int64_t step = product.panels != nullptr ? some : kPanelsAtOnce * panel;
  parallel_for(parts_of(p.columns, some), [&](std::int64_t index, int /*thread*/) {
    const std::int64_t end = std::min((index + 1) * some, p.columns);
    for (std::int64_t column = index * some; column < end; column += step)
      run_few_part(product, column, std::min(column + step, end));
  });
}

void run_any(const Product& product) {
  product.p.rows <= cpu::kFewRows&& product.p.a.column == 1 ? run_few(product) : run(product);
}

}  // namespace

const char* matmul_kernel_name() { return matmul_kernels().name; }

void matmul_f32(const MatmulProblem<float>& problem) { run_any({.p = problem}); }

void matmul_panels(const PanelsProblem& problem) {
  run_any(product_of(problem, form_of(problem.b.dtype)));
}

void matmul_pairs(const PanelsProblem& problem) { run(product_of(problem, PanelForm::kPairs)); }

void matmul_pairs(const MatmulProblem<float>& problem) {
  run({.p = problem, .form = PanelForm::kPairs});
}

}  // namespace heed::kernels
