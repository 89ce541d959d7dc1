// i8 with one f32 scale for each 32 consecutive elements of a row: how a cache of keys takes a
// quarter of the memory.
#pragma once

#include "heed/tensor/scales.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// The shape of the scales of i8 values: `shape` with ceil(D / 32) in place of D, the last extent.
Shape scales_shape(Shape shape);

struct Quantised {
  Tensor values;  // i8, of x's shape
  Tensor scales;  // f32, of its scales_shape
};

/// scale = max|x| / 127 of each group of 32 (the last may be shorter), value = x / scale rounded to
/// nearest even, in f32; a group of zeros has scale 0. A group with a NaN or an infinity becomes
/// NaN as a whole: its scale is NaN.
///
/// x of f64, f32, f16 or bf16, of rank 1 or more, any strides; extents may be 0. The same bits for
/// any number of threads.
Quantised quantise(const ConstView& x);

/// value * scale, rounded to f32: what attention reads.
Tensor dequantise(const ConstView& values, const ConstView& scales);

}  // namespace heed
