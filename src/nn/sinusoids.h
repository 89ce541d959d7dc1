// The fixed positions of the original Transformer.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// [B, T, width] of `dtype` for positions [B, T] i32: sin(p f_i) in the first half of a row and
/// cos(p f_i) in the second, f_i = 10000^(-2 i / width) (Vaswani et al. 2017, section 3.5, with its
/// pairs apart).
Tensor sinusoids(const ConstView& positions, std::int64_t width, DType dtype);

}  // namespace heed
