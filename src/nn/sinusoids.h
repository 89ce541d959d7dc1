// The fixed positions of the original Transformer.
#pragma once

#include <cstdint>

#include "heed/tensor.h"

namespace heed {

struct SinusoidShape {
  std::int64_t width = 0;
  bool reaches_base = false;  // the last frequency is 1/10000, as in tensor2tensor; needs 4 columns
  std::int64_t zero = -1;     // the position whose row is 0
};

/// [B, T, width] of `dtype` for positions [B, T] i32: sin(p f_i) in the first half of a row and
/// cos(p f_i) in the second, f_i = 10000^(-2 i / width) (Vaswani et al. 2017, section 3.5, with its
/// pairs apart). With `reaches_base` f_i = 10000^(-i / (width / 2 - 1)), and the last column of an
/// odd width is 0.
Tensor sinusoids(const ConstView& positions, const SinusoidShape& shape, DType dtype);

}  // namespace heed
