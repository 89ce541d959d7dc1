// The functions that matrix products need for each instruction set, as a table.
//
// b is packed into panels: `panel` adjacent columns, one row of them for each k, so that the tile
// reads it from front to back. Rows of a are packed into strips. An element is summed over blocks
// of kBlockDepth, each a chain of fused multiply-adds with ascending k; the blocks' sums are added
// in order. All functions here do the same, so bits do not depend on which one runs.
#pragma once

#include <cstdint>

#include "ops/kernels/matmul.h"
#include "tensor/block_type.h"

namespace heed::kernels::cpu {

/// How many k an element is summed over before the sum is added to the output.
constexpr std::int64_t kBlockDepth = 512;
/// How many k of a row are adjacent in a strip that was packed from rows.
constexpr std::int64_t kLine = 16;

constexpr std::int64_t whole_lines(std::int64_t depth) {
  return (depth + kLine - 1) / kLine * kLine;
}

/// The content of a panel's row: floats, 16-bit numbers, or pairs (k, k + 1) of bf16, which are
/// widened, or multiplied as pairs.
enum class PanelForm : std::uint8_t { kF32, kF16, kBF16, kPairs };

/// Layout of a strip of R rows: [k / 16][R][16], or [k][R] if a is stored by columns.
enum class StripForm : std::uint8_t { kByRow, kByDepth };

/// Rows in strips times one panel, or panels_together(rows) panels.
struct PanelProduct {
  const float* a = nullptr;  // whole_lines(depth) per row
  StripForm strips = StripForm::kByRow;
  std::int64_t rows = 0;
  const void* b = nullptr;
  PanelForm panels = PanelForm::kF32;
  std::int64_t b_panel = 0;  // bytes from one panel to the next
  std::int64_t depth = 0;    // kPairs: in pairs
  float* out = nullptr;
  std::int64_t out_row = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;   // null: none
  bool add = false;              // to the existing output
  const char* ahead = nullptr;   // memory to prefetch: of as many panels as b
  std::int64_t ahead_bytes = 0;  // per panel
};

/// One to kFewRows rows times panels side by side, over the whole depth, with a unpacked.
struct FewRowsProduct {
  const float* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t rows = 0;
  const void* b = nullptr;
  PanelForm panels = PanelForm::kF32;  // not kPairs
  std::int64_t b_row = 0;              // bytes from one panel row to the next
  std::int64_t b_panel = 0;            // bytes from one panel to the next
  std::int64_t depth = 0;
  float* out = nullptr;
  std::int64_t out_row = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;
  bool add = false;
};
constexpr std::int64_t kFewRows = 3;

/// The scale and the sums of 32 numbers of a row that were rounded to whole numbers: number = scale
/// * whole.
struct RoundedSlab {
  float scale;
  float sums[2];  // of 16 rounded numbers each
};
/// Rounded rows lie in pieces of the depth: [depth / 256][rows][256].
constexpr std::int64_t kPieceSlabs = 8;
constexpr std::int64_t kPieceDepth = 256;

/// 32 numbers of one row, rounded: whole = digits[2] * 2^16 + digits[1] * 2^8 + digits[0], with
/// digits from -128 to 127; or digits[0] alone, from -127 to 127.
constexpr int kRowDigits = 3;
struct RowSlab {
  std::int8_t digits[kRowDigits][32];
  RoundedSlab rounded;
};

/// Panels of codes that fill their bytes are multiplied with a row as many at once: six chains with
/// AVX2.
constexpr int kPanelsOfRow = 3;

/// One row times panels of codes.
struct RowByCodes {
  // For codes that fill their bytes, unless the row is in bytes: each number divided by the factor
  // by which its code is too large, and the sums of 32 numbers of the original row.
  const float* a = nullptr;
  const float* a_sums = nullptr;
  // For other codes.
  const RowSlab* slabs = nullptr;
  int digits = kRowDigits;  // or 1
  const BlockType* type = nullptr;
  const char* b = nullptr;
  std::int64_t b_panel = 0;  // bytes from one panel to the next
  std::int64_t depth = 0;
  float* out = nullptr;
  std::int64_t columns = 0;
  const float* bias = nullptr;
};

/// Rows rounded to bytes, times panels of codes.
struct BytesByCodes {
  const std::int8_t* a = nullptr;      // -127 to 127, rows of kPieceDepth
  const RoundedSlab* slabs = nullptr;  // rows of kPieceSlabs
  std::int64_t rows_of_piece = 0;      // of which these are `rows`
  std::int64_t rows = 0;
  const BlockType* type = nullptr;
  const char* b = nullptr;
  std::int64_t b_panel = 0;  // bytes from one panel to the next
  std::int64_t depth = 0;
  float* out = nullptr;
  std::int64_t out_row = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;
};

/// The functions of an instruction set.
struct MatmulKernels {
  const char* name;
  std::int64_t panel;     // columns
  std::int64_t strip;     // rows of the largest strip
  bool multiplies_pairs;  // whether the CPU has the instruction
  /// Packs rows of a into strips.
  void (*pack_rows)(const MatrixOperand<float>& a, std::int64_t rows, std::int64_t depth,
                    StripForm form, float* to);
  /// Packs rows of a, rounded to bf16, in pairs; whole_lines(pairs) per row.
  void (*pack_pairs)(const MatrixOperand<float>& a, std::int64_t rows, std::int64_t depth,
                     StripForm form, float* to);
  /// Packs columns of b, at most a panel's, into a panel of floats.
  void (*pack_columns)(const MatrixOperand<float>& b, std::int64_t depth, std::int64_t columns,
                       float* to);
  /// The same, rounded to bf16, in pairs; the second of an odd last pair is 0.
  void (*pack_column_pairs)(const MatrixOperand<float>& b, std::int64_t depth, std::int64_t columns,
                            float* to);
  /// How many panels a product with packed panels processes at once.
  std::int64_t (*panels_together)(std::int64_t rows, PanelForm form);
  void (*multiply)(const PanelProduct& product);
  void (*multiply_few)(const FewRowsProduct& product);
  /// Converts `depth` rows of a panel of codes, from row `k` on, to floats; both are multiples of
  /// kSlabDepth.
  void (*read_codes)(const BlockType& type, const char* panel, std::int64_t k, std::int64_t depth,
                     float* to);
  /// Rounds 32 numbers to multiples of 1 / 127 of the largest magnitude. Infinity or NaN makes the
  /// scale NaN.
  RoundedSlab (*round_to_bytes)(const float* a, std::int8_t* bytes);
  /// The same to 24 bits.
  void (*round_to_digits)(const float* a, RowSlab& slab);
  void (*multiply_row_by_codes)(const RowByCodes& product);
  void (*multiply_bytes)(const BytesByCodes& product);
};

/// For the widest vectors of this CPU.
const MatmulKernels& matmul_kernels();

}  // namespace heed::kernels::cpu
