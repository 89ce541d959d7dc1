#include "onnx/operators/normalised_axes.h"

#include "heed/base/error.h"

namespace heed::onnx {

Shape normalised_shape(const ConstView& x, int axis) {
  return Shape(
      std::span(x.shape().begin(), x.shape().end()).subspan(static_cast<std::size_t>(axis)));
}

Tensor over_axes(const ConstView& vector, const Shape& shape) {
  ConstView view = vector;
  while (view.rank() > shape.rank() && view.dim(0) == 1) view = view.select(0, 0);
  if (view.rank() > shape.rank())
    fail(ErrorCode::kUnsupported, "a scale or bias {} that varies beyond the normalised axes {}",
         to_string(vector.shape()), to_string(shape));
  return Tensor::copy_of(view.broadcast_to(shape));
}

DType stage_type(const NodeCall& call, DType of_x) {
  const std::int64_t stash = call.integer("stash_type", 1);
  if (stash == 1) return of_x == DType::kF64 ? DType::kF64 : DType::kF32;
  if (stash == 11) return DType::kF64;
  fail(ErrorCode::kUnsupported, "stash_type {}: float (1) and double (11) are served", stash);
}

}  // namespace heed::onnx
