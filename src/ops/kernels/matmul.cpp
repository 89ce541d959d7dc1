// The matrix product: how it is divided into blocks, strips and panels (matmul_kernels.h).
//
// Measured: matmul_tile-inl.h. oneDNN 2.6.3, on a Zen 4: 66 to 95 % on plain weights and 384 or 512
// rows, where this one reached 73 to 90 %.
//
// Tried: blocks of 128 to 768 k: at 128 a strip's end costs 3 % on 8 rows, from 384 on all are
// equal; rows of a in place: 12 of them share an L1 set if a row is a multiple of 4 KiB, so lines
// of 16 k are copied side by side (estimated cost: 0.3 %). For a plain b (82 to 93 %): packing four
// panels at once while prefetching the next strip, without gain.
#include "ops/kernels/matmul.h"

#include <algorithm>
#include <vector>

#include "base/thread_memory.h"
#include "heed/threads.h"
#include "ops/kernels/blocks.h"
#include "ops/kernels/matmul_kernels.h"
#include "ops/kernels/matmul_product.h"

namespace heed::kernels {
namespace {

using cpu::has_few_rows;
using cpu::kBlockDepth;
using cpu::matmul_kernels;
using cpu::PanelForm;
using cpu::PanelProduct;
using cpu::part_begin;
using cpu::parts_of;
using cpu::Product;
using cpu::run_by_bytes;
using cpu::run_few;
using cpu::shares_rows;
using cpu::StripForm;
using cpu::whole_lines;

// Strips and a panel fit into a 512 KiB cache, or panels and the prefetched ones.
constexpr std::int64_t kStripBytes = std::int64_t{400} << 10;
// Rows per block: as many as fit there with their whole depth, so that `out` is not written and
// reread for each block of the depth; from 64 rows on, a panel is worth prefetching.
constexpr std::int64_t kLeastRows = 64;
constexpr std::int64_t kMostRows = 96;
// Used if 64 do not fit (2,048 deep in f32), and for a plain b, whose panels are repacked for every
// block of rows: weights are read once, and strips stream from the L3 cache, two bytes per cycle.
constexpr std::int64_t kDeepRows = 768;
// A panel used by several strips stays in the L2 cache.
constexpr std::int64_t kPanelBytes = std::int64_t{300} << 10;

thread_local ThreadMemory block_memory;

struct Part {
  std::int64_t row, row_end;
  std::int64_t column, column_end;  // columns from a panel's first
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

// The k and the columns that a product of packed panels processes.
struct Piece {
  std::int64_t column, columns;
  std::int64_t k, depth;
};

const char* piece_begin(const Product& product, const Piece& piece) {
  return product.panels + piece.column / matmul_kernels().panel * product.panel_bytes() +
         product.panel_row(piece.k) * product.row_bytes();
}

// Finds the panels of a piece; `spare` holds one of a plain b. Also prefetches: a single strip
// finishes a panel at once and prefetches a little ahead; several strips share the prefetching.
void find_panels(const Product& product, const Piece& piece, const Piece& next, float* spare,
                 PanelProduct& to) {
  to.panels = product.form;
  if (product.codes != nullptr) {
    matmul_kernels().read_codes(
        *product.type,
        product.codes + piece.column / matmul_kernels().panel * product.panel_bytes(), piece.k,
        piece.depth, spare);
    to.b = spare;
    to.ahead = reinterpret_cast<const char*>(spare);
  } else if (product.panels == nullptr) {
    MatrixOperand<float> b = product.p.b;
    b.data += piece.k * b.row + piece.column * b.column;
    const bool in_pairs = product.form == PanelForm::kPairs;
    const auto pack = in_pairs ? matmul_kernels().pack_column_pairs : matmul_kernels().pack_columns;
    pack(b, to.depth, to.columns, spare);
    to.b = spare;
    to.ahead = reinterpret_cast<const char*>(spare);
  } else {
    constexpr std::int64_t kRowsAhead = 128;
    const bool one_strip =
        to.rows <= matmul_kernels().strip && to.columns <= matmul_kernels().panel;
    const char* const begin = piece_begin(product, piece);
    to.b = begin;
    to.b_panel = product.panel_bytes();
    to.ahead = one_strip ? begin + kRowsAhead * product.row_bytes() : piece_begin(product, next);
    to.ahead_bytes = product.panel_row(one_strip ? piece.depth : next.depth) * product.row_bytes();
  }
  if (product.form == PanelForm::kPairs) to.depth = product.panel_row(to.depth);
}

// How the depth is divided: into pieces, so that a panel stays in the cache while several strips
// use it, and into groups of pieces whose strips fit there: all pieces if rows are few, so that
// panels are read from front to back.
struct DepthCut {
  std::int64_t piece, group;
};

DepthCut cut_depth(const Product& product, std::int64_t rows, std::int64_t together) {
  const std::int64_t depth = product.p.inner;
  if (product.panels == nullptr) {  // packed one block at a time
    const std::int64_t block = std::min(kBlockDepth, depth);
    return {block, block};
  }
  const std::int64_t most_bytes = together > 1 ? kStripBytes / 2 / together : kPanelBytes;
  const bool one_strip = rows <= matmul_kernels().strip && together == 1;
  const std::int64_t pieces = one_strip ? 1 : parts_of(product.panel_bytes(), most_bytes);
  const std::int64_t blocks =
      together > 1 && pieces > 1 ? 1 : parts_of(parts_of(depth, pieces), kBlockDepth);
  const std::int64_t piece = blocks * kBlockDepth;
  const std::int64_t piece_bytes = rows * strip_depth(product, piece) * std::int64_t{sizeof(float)};
  const std::int64_t fit = std::max<std::int64_t>(1, kStripBytes / piece_bytes);
  return {std::min(piece, depth), std::min(piece * fit, depth)};
}

// Multiplies the pieces of some k for all columns, with packed strips.
void run_group(const Product& product, const Part& part, const DepthCut& cut, std::int64_t begin,
               std::int64_t together, float* strips, float* spare) {
  const MatmulProblem<float>& p = product.p;
  const std::int64_t rows = part.row_end - part.row;
  const std::int64_t end = std::min(begin + cut.group, p.inner);
  const std::int64_t panel = matmul_kernels().panel;
  const auto piece_at = [&](std::int64_t column, std::int64_t k) {
    const std::int64_t left = part.column_end - column;
    return Piece{column, std::min(left, left > (together - 1) * panel ? together * panel : panel),
                 k, std::min(cut.piece, end - k)};
  };
  for (Piece piece = piece_at(part.column, begin); piece.column < part.column_end;) {
    const Piece next = piece.k + piece.depth < end ? piece_at(piece.column, piece.k + piece.depth)
                                                   : piece_at(piece.column + piece.columns, begin);
    PanelProduct one = {.a = strips + rows * strip_depth(product, piece.k - begin),
                        .strips = strip_form(product),
                        .rows = rows,
                        .depth = piece.depth,
                        .out = p.out + part.row * p.out_row + piece.column,
                        .out_row = p.out_row,
                        .columns = piece.columns,
                        .bias = p.bias != nullptr && piece.k == 0 ? p.bias + piece.column : nullptr,
                        .add = p.accumulate || piece.k > 0};
    find_panels(product, piece, next, spare, one);
    matmul_kernels().multiply(one);
    piece = next;
  }
}

void run_part(const Product& product, const Part& part) {
  const std::int64_t rows = part.row_end - part.row;
  const std::int64_t together =
      product.panels != nullptr ? matmul_kernels().panels_together(rows, product.form) : 1;
  const DepthCut cut = cut_depth(product, rows, together);
  const std::int64_t strip_floats = rows * strip_depth(product, cut.group);
  float* const strips = block_memory.at_least((strip_floats + matmul_kernels().panel * cut.piece) *
                                              std::int64_t{sizeof(float)});
  for (std::int64_t k = 0; k < product.p.inner; k += cut.group) {
    const std::int64_t end = std::min(k + cut.group, product.p.inner);
    for (std::int64_t some = k; some < end; some += cut.piece)
      pack_strips(product, part, some, std::min(cut.piece, end - some),
                  strips + rows * strip_depth(product, some - k));
    run_group(product, part, cut, k, together, strips, strips + strip_floats);
  }
}

std::int64_t block_rows(const Product& product) {
  if (product.panels == nullptr) return kDeepRows;
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

// A product with packed panels.
Product product_of(const PanelsProblem& problem, PanelForm form) {
  const auto* const data = static_cast<const char*>(problem.b.data);
  const bool in_codes = problem.b.blocks != nullptr;
  return {.p = {.rows = problem.rows,
                .columns = problem.b.columns,
                .inner = problem.b.inner,
                .a = {.data = problem.a, .row = problem.a_row, .column = 1},
                .b = {},
                .bias = problem.bias,
                .out = problem.out,
                .out_row = problem.out_row},
          .panels = in_codes ? nullptr : data,
          .form = form,
          .type = problem.b.blocks,
          .codes = in_codes ? data : nullptr,
          .in_bytes = problem.by_bytes};
}

}  // namespace

const char* matmul_kernel_name() { return matmul_kernels().name; }

void matmul_f32(const MatmulProblem<float>& problem) {
  const Product product = {.p = problem};
  has_few_rows(product) ? run_few({&product, 1}) : run(product);
}

void matmul_panels(std::span<const PanelsProblem> problems) {
  std::vector<Product> few;
  for (const PanelsProblem& problem : problems) {
    const Product product = product_of(problem, form_of(problem.b.dtype));
    if (!few.empty() && !shares_rows(product, few[0])) {
      run_few(few);
      few.clear();
    }
    if (has_few_rows(product))
      few.push_back(product);
    else
      product.in_bytes ? run_by_bytes(product) : run(product);
  }
  if (!few.empty()) run_few(few);
}

void matmul_pairs(const PanelsProblem& problem) { run(product_of(problem, PanelForm::kPairs)); }

void matmul_pairs(const MatmulProblem<float>& problem) {
  run({.p = problem, .form = PanelForm::kPairs});
}

}  // namespace heed::kernels
