// What the two norms of ONNX share: the axis from which on they go over everything, and vectors
// that broadcast to the axes behind it.
#pragma once

#include "onnx/operators.h"

namespace heed::onnx {

/// The axes that are normalised, of X from `axis` on.
Shape normalised_shape(const ConstView& x, int axis);

/// `vector` broadcast to `shape`, row-major. kUnsupported where it varies over axes before those.
Tensor over_axes(std::string_view name, const ConstView& vector, const Shape& shape);

/// The precision of the first stage: stash_type, f32 unless it says f64. kUnsupported for others.
DType stage_type(const NodeCall& call, DType of_x);

}  // namespace heed::onnx
