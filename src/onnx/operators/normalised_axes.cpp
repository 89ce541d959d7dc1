#include "onnx/operators/normalised_axes.h"

#include <fmt/format.h>

#include "heed/error.h"

namespace heed::onnx {

Shape normalised_shape(const ConstView& x, int axis) {
  return Shape(
      std::span(x.shape().begin(), x.shape().end()).subspan(static_cast<std::size_t>(axis)));
}

Tensor over_axes(std::string_view name, const ConstView& vector, const Shape& shape) {
  ConstView view = vector;
  while (view.rank() > shape.rank() && view.dim(0) == 1) view = view.select(0, 0);
  if (view.rank() > shape.rank())
    fail({.code = ErrorCode::kUnsupported,
          .argument = name,
          .found = to_string(vector.shape()),
          .expected = fmt::format("the normalised axes {} alone", to_string(shape))});
  return Tensor::copy_of(view.broadcast_to(shape));
}

DType stage_type(const NodeCall& call, DType of_x) {
  const std::int64_t stash = call.integer("stash_type", 1);
  if (stash == 1) return of_x == DType::kF64 ? DType::kF64 : DType::kF32;
  if (stash == 11) return DType::kF64;
  fail({.code = ErrorCode::kUnsupported,
        .op = call.node.op_type,
        .argument = "stash_type",
        .found = stash,
        .expected = "1 (float) or 11 (double)"});
}

}  // namespace heed::onnx
