// The softmax over any axis.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// y = exp(x - max) / sum(exp(x - max)) over `axis` (negative: from the back). f64, f32, f16 or
/// bf16 (the 16-bit types computed in f32 and rounded once), any strides, extents may be 0; y is
/// row-major. A line that holds a NaN or +inf, or nothing but -inf, is NaN, as IEEE gives; rows
/// without a visible key are what `attention` defines. The same bits for any number of threads.
Tensor softmax(const ConstView& x, int axis = -1);

/// dx = y (dy - sum(y dy)) over `axis`, for y = softmax(x).
Tensor softmax_backward(const ConstView& y, const ConstView& dy, int axis = -1);

}  // namespace heed
