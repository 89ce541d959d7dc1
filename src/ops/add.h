// Sums.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// y += x, element by element. f32 or f64, the same shape, row-major.
void add_to(const View& y, const ConstView& x);

/// `y + x` in the memory of y: how a residual stream goes on while the old one stays as it was.
Tensor add(Tensor y, const ConstView& x);

/// `y + number` in the memory of y; f32 or f64, row-major.
Tensor add_number(Tensor y, double number);

/// `y[..., c] + row[c]` in the memory of y.
Tensor add_row(Tensor y, const ConstView& row);

/// sums[c] += the sum of column c over all rows of x [..., C]; rows in a fixed order, whatever the
/// number of threads.
void add_column_sums(const View& sums, const ConstView& x);

}  // namespace heed
