// Products, element by element.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// y *= x. f32 or f64, the same shape, row-major.
void multiply_by(const View& y, const ConstView& x);

/// `y * factor` in the memory of y; f32 or f64, row-major.
Tensor scaled(Tensor y, double factor);

}  // namespace heed
