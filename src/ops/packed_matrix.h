// A matrix that many products read, in the form that this CPU's kernel reads best.
#pragma once

#include <cstdint>

#include "heed/tensor.h"

namespace heed {

/// b [K, N] of f32, f16 or bf16, brought into panels once (ops/kernels/matmul.h). It takes the
/// memory of the plain matrix, with N rounded up to whole panels.
class PackedMatrix {
 public:
  /// Any strides; the type is kept. Extents are at least 1.
  explicit PackedMatrix(const ConstView& b);

  std::int64_t inner() const { return inner_; }      // K
  std::int64_t columns() const { return columns_; }  // N
  DType dtype() const { return panels_.dtype(); }
  const void* data() const { return panels_.view().raw(); }

  /// Column `index`, K floats.
  void copy_column(std::int64_t index, float* to) const;

 private:
  std::int64_t inner_ = 0;
  std::int64_t columns_ = 0;
  Tensor panels_;
};

/// Whether products are faster over a packed matrix of this type than over a plain one. Not with
/// AMX for f32, whose tiles take plain matrices.
bool packing_pays(DType dtype);

/// out = a b + bias.
///
/// Types: a, bias and out are f32; b is widened, sums are f32. Determinism: the bits of a row of
/// out depend on neither the other rows nor the number of threads; of an f32 matrix they are those
/// of the plain product (ops/matmul.h).
///
/// in_bulk: for many rows. Where b is bf16 and this CPU multiplies bf16 in pairs faster than f32
/// (AMD's with AVX512-BF16), a is rounded to bf16, and numbers below 2^-126 count as 0.
struct PackedMatmulArgs {
  ConstView a = {};  // [M, K], contiguous rows
  const PackedMatrix& b;
  ConstView bias = {};   // [N]; not given: 0
  bool in_bulk = false;  // a product made for many rows
};

/// Into memory of the caller whose rows are contiguous.
void matmul(const PackedMatmulArgs& args, const View& out);

}  // namespace heed
