// The arguments of the matrix product kernels: raw pointers and plain data, already checked.
#pragma once

#include <cstdint>
#include <span>

#include "heed/tensor.h"

namespace heed {
struct BlockType;
}

namespace heed::kernels {

template <typename T>
struct MatrixOperand {
  const T* data = nullptr;
  std::int64_t row = 0;  // strides in elements; fast if one of them is 1
  std::int64_t column = 0;
};

/// out [M, N] = a [M, K] b [K, N] + bias, or += . All extents at least 1, but K may be 0 for the
/// reference.
template <typename T>
struct MatmulProblem {
  std::int64_t rows = 0;     // M
  std::int64_t columns = 0;  // N
  std::int64_t inner = 0;    // K
  MatrixOperand<T> a;
  MatrixOperand<T> b;
  const T* bias = nullptr;  // null: none
  T* out = nullptr;
  std::int64_t out_row = 0;  // stride; columns are contiguous
  bool accumulate = false;
  bool bf16 = false;  // matmul_amx only: both operands rounded to bf16
};

/// Packs both operands into the kernel's form.
void matmul_f32(const MatmulProblem<float>& problem);

/// "cpu-avx512", "cpu-avx2" or "portable".
const char* matmul_kernel_name();

/// Whether this process may use AMX. The first call asks the system; $HEED_AMX=0 disables it.
bool has_amx();

/// By AMX, on thread_count() threads; rows, and groups of 32 columns, that cannot be cut
/// (amx_panel.h) go to matmul_f32. Returns false and writes nothing without AMX or if b is small.
bool matmul_amx(const MatmulProblem<float>& problem);

// --- weights packed into panels once ------------------------------------------------------------

/// A matrix b [K, N] of f32, f16 or bf16 in the layout of this CPU's kernel: consecutive panels of
/// panel_columns() columns, each with its rows k in order; for bf16, two rows alternate number by
/// number. Missing columns, and the second row of an odd last pair, are zeros. Layout of quantised
/// matrices: block_panels.h.
struct Panels {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t inner = 0;             // K
  std::int64_t columns = 0;           // N
  const BlockType* blocks = nullptr;  // set: each column is a row of blocks, widened to f32 `dtype`
};

std::int64_t panel_columns();
/// Size of a matrix's panels in bytes.
std::int64_t panel_bytes(const Panels& panels);
/// `from` [K, N] has any strides, in elements of `to`'s type.
void pack_panels(const void* from, std::int64_t row, std::int64_t column, const Panels& to,
                 void* memory);
/// `rows` has a row of blocks for each column, in order.
void pack_blocks(const void* rows, const Panels& to, void* memory);
/// Column `column` of the matrix as floats.
void unpack_column(const Panels& panels, std::int64_t column, float* to);

/// out [M, N] = a [M, K] b + bias; a's columns are contiguous. All extents at least 1.
struct PanelsProblem {
  std::int64_t rows = 0;  // M
  const float* a = nullptr;
  std::int64_t a_row = 0;
  Panels b;
  const float* bias = nullptr;  // null: none
  float* out = nullptr;
  std::int64_t out_row = 0;
  /// Rounds 32 numbers of a row at a time to bytes, -127 to 127 times the largest / 127. b must
  /// have blocks. 32 numbers below 1e-30 count as 0.
  bool by_bytes = false;
};

/// One after the other; those of few rows of the same `a` in one parallel loop.
void matmul_panels(std::span<const PanelsProblem> problems);

/// Whether products in pairs of bf16 are compiled, and this CPU is faster with them.
bool has_fast_pairs();
/// With a rounded to bf16, in pairs. b must be bf16; needs has_fast_pairs().
void matmul_pairs(const PanelsProblem& problem);
/// With both operands rounded to bf16. Needs has_fast_pairs().
void matmul_pairs(const MatmulProblem<float>& problem);

}  // namespace heed::kernels
