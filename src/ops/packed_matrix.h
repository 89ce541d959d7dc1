// A matrix used in many products, in the form that this CPU's kernel reads best.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "heed/tensor.h"
#include "tensor/block_type.h"

namespace heed {

/// b [K, N] in f32, f16, bf16 or quantised blocks, packed into panels once (ops/kernels/matmul.h).
/// It needs the memory of the plain matrix, with N rounded up to whole panels.
class PackedMatrix {
 public:
  /// A matrix that stays in its file.
  struct Streamed {
    std::int64_t inner = 0, columns = 0;
    DType dtype = DType::kF32;          // in which `read` packs it
    const BlockType* blocks = nullptr;  // null: plain numbers
    std::function<PackedMatrix()> read = {};
  };

  /// Any strides; the type is kept. Extents are at least 1.
  explicit PackedMatrix(const ConstView& b);
  /// Takes quantised blocks, u8 [N, bytes per row].
  PackedMatrix(const BlockType& type, const ConstView& rows);
  /// Packs it for each product and holds nothing between two products.
  explicit PackedMatrix(Streamed streamed);

  std::int64_t inner() const { return inner_; }      // K
  std::int64_t columns() const { return columns_; }  // N
  /// f32 of blocks, which are widened to it.
  DType dtype() const { return blocks_ != nullptr ? DType::kF32 : dtype_; }
  const BlockType* blocks() const { return blocks_; }  // null: plain numbers
  const void* data() const { return panels_.view().raw(); }
  bool is_streamed() const { return read_ != nullptr; }
  std::int64_t packed_bytes() const;  // of the panels, streamed or not

  /// Whether products round the other operand to bytes.
  bool by_bytes() const { return by_bytes_; }

  /// The same matrix with its panels in memory: for several reads of a streamed one.
  PackedMatrix held() const;
  /// The same matrix, whose products round the other operand to bytes, which is faster. Needs
  /// blocks.
  PackedMatrix multiplied_by_bytes() const;
  /// Column `index`, K floats.
  void copy_column(std::int64_t index, float* to) const;

 private:
  std::int64_t inner_ = 0;
  std::int64_t columns_ = 0;
  DType dtype_ = DType::kF32;
  const BlockType* blocks_ = nullptr;
  Tensor panels_;                            // not given where the matrix is streamed
  std::function<PackedMatrix()> read_ = {};  // set where it is
  bool by_bytes_ = false;
};

/// Whether products are faster with a packed matrix of this type than with a plain one. Not for f32
/// with AMX, whose tiles use plain matrices.
bool packing_pays(DType dtype);

/// out = a b + bias.
///
/// Types: a, bias and out are f32; b is widened, sums are f32. Determinism: the bits of a row of
/// out do not depend on other rows or the number of threads. For an f32 matrix, and for the f32
/// values of blocks, they are those of the plain product (ops/matmul.h). But a single row times
/// blocks, as in text generation, is summed by groups, with other last bits.
///
/// By bytes (`multiplied_by_bytes`): 32 numbers of a row at a time are rounded to whole multiples
/// of 1/127 of the largest; sums of 16 or 32 products are exact. Errors are below 1/254 of the
/// largest number of each 32, times the sizes of the weights.
///
/// in_bulk: for many rows. If b is bf16 and this CPU multiplies bf16 in pairs faster than f32
/// (AMD's with AVX512-BF16), a is rounded to bf16, and numbers below 2^-126 count as 0.
struct PackedMatmulArgs {
  ConstView a = {};  // [M, K], contiguous rows
  const PackedMatrix& b;
  ConstView bias = {};   // [N]; default: 0
  bool in_bulk = false;  // a product made for many rows
};

/// Writes to the caller's memory, whose rows must be contiguous.
void matmul(const PackedMatmulArgs& args, const View& out);
/// Several products with the same bits as one by one. Those of few rows of the same `a` share one
/// parallel loop.
void matmul(std::span<const PackedMatmulArgs> products, std::span<const View> outs);

}  // namespace heed
