// What the matrix products need of an instruction set: one table of functions each.
//
// b lies in panels: `panel` columns side by side, one row of them for each k, so that the tile
// reads it from front to back. Rows of a are brought together in strips. An element is summed over
// blocks of kBlockDepth, each one chain of fused multiply-adds with k rising, the blocks' sums
// added one after the other: the same in every function here, so that bits do not depend on which
// one serves.
#pragma once

#include <cstdint>

#include "ops/kernels/matmul.h"
#include "tensor/block_type.h"

namespace heed::kernels::cpu {

/// How many k an element is summed over before it meets what was there.
constexpr std::int64_t kBlockDepth = 512;
/// How many k of a row lie together in a strip that was copied from rows.
constexpr std::int64_t kLine = 16;

constexpr std::int64_t whole_lines(std::int64_t depth) {
  return (depth + kLine - 1) / kLine * kLine;
}

/// What a panel's row holds: floats, 16-bit numbers, or pairs (k, k + 1) of bf16, which are
/// widened, or multiplied as they are.
enum class PanelForm : std::uint8_t { kF32, kF16, kBF16, kPairs };

/// How the numbers of a strip of R rows lie: [k / 16][R][16], or [k][R] where a lies by columns.
enum class StripForm : std::uint8_t { kByRow, kByDepth };

/// Rows in strips times one panel, or panels_together(rows) of them.
struct PanelProduct {
  const float* a = nullptr;  // whole_lines(depth) a row
  StripForm strips = StripForm::kByRow;
  std::int64_t rows = 0;
  const void* b = nullptr;
  PanelForm panels = PanelForm::kF32;
  std::int64_t b_panel = 0;  // bytes from a panel to the next
  std::int64_t depth = 0;    // kPairs: in pairs
  float* out = nullptr;
  std::int64_t out_row = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;   // null: none
  bool add = false;              // to what is there
  const char* ahead = nullptr;   // memory to bring near on the way: of as many panels as b
  std::int64_t ahead_bytes = 0;  // of one
};

/// One to kFewRows rows times panels side by side, over the whole depth: a as it lies.
struct FewRowsProduct {
  const float* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t rows = 0;
  const void* b = nullptr;
  PanelForm panels = PanelForm::kF32;  // not kPairs
  std::int64_t b_row = 0;              // bytes from a panel's row to the next
  std::int64_t b_panel = 0;            // bytes from a panel to the next
  std::int64_t depth = 0;
  float* out = nullptr;
  std::int64_t out_row = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;
  bool add = false;
};
constexpr std::int64_t kFewRows = 3;

/// One row times panels of codes, as prepare_row has made it.
struct RowByCodes {
  const float* a = nullptr;  // each number divided by how many times too large its code is read
  const float* a_sums = nullptr;  // of 16 numbers of the row itself
  const BlockType* type = nullptr;
  const char* b = nullptr;
  std::int64_t b_panel = 0;  // bytes from a panel to the next
  std::int64_t depth = 0;
  float* out = nullptr;
  std::int64_t columns = 0;
  const float* bias = nullptr;
};

/// The functions of an instruction set.
struct MatmulKernels {
  const char* name;
  std::int64_t panel;     // columns
  std::int64_t strip;     // rows of the largest
  bool multiplies_pairs;  // where the CPU has the instruction
  /// Rows of a into strips.
  void (*pack_rows)(const MatrixOperand<float>& a, std::int64_t rows, std::int64_t depth,
                    StripForm form, float* to);
  /// Rows of a, rounded to bf16, in pairs; whole_lines(pairs) a row.
  void (*pack_pairs)(const MatrixOperand<float>& a, std::int64_t rows, std::int64_t depth,
                     StripForm form, float* to);
  /// Columns of b, at most a panel's, into a panel of floats.
  void (*pack_columns)(const MatrixOperand<float>& b, std::int64_t depth, std::int64_t columns,
                       float* to);
  /// The same, rounded to bf16, in pairs; the second of an odd last pair is 0.
  void (*pack_column_pairs)(const MatrixOperand<float>& b, std::int64_t depth, std::int64_t columns,
                            float* to);
  /// How many panels a product of packed panels takes at once.
  std::int64_t (*panels_together)(std::int64_t rows, PanelForm form);
  void (*multiply)(const PanelProduct& product);
  void (*multiply_few)(const FewRowsProduct& product);
  /// `depth` rows of a panel of codes, from row `k` on, as floats; both are multiples of
  /// kSlabDepth.
  void (*read_codes)(const BlockType& type, const char* panel, std::int64_t k, std::int64_t depth,
                     float* to);
  void (*multiply_row_by_codes)(const RowByCodes& product);
};

/// Of the widest vectors that this CPU has.
const MatmulKernels& matmul_kernels();

}  // namespace heed::kernels::cpu
