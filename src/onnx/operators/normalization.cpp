// LayerNormalization and RMSNormalization, with statistics over all axes from `axis` on.
#include <fmt/format.h>

#include "heed/error.h"
#include "heed/operators.h"
#include "onnx/operators.h"
#include "ops/elementwise.h"

namespace heed::onnx {
namespace {

// The normalised axes: X's, from `axis` on.
Shape normalised_shape(const ConstView& x, int axis) {
  return Shape(
      std::span(x.shape().begin(), x.shape().end()).subspan(static_cast<std::size_t>(axis)));
}

// `vector` broadcast to `shape`, row-major. kUnsupported if it varies along earlier axes.
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

// The precision of the first stage: stash_type, f32 by default or f64. kUnsupported for others.
DType stage_type(const NodeCall& call, DType of_x) {
  const std::int64_t stash = call.integer("stash_type", 1);
  if (stash == 1) return of_x == DType::kF64 ? DType::kF64 : DType::kF32;
  if (stash == 11) return DType::kF64;
  fail(call.node.op_type, "stash_type", stash, "1 (float) or 11 (double)", ErrorCode::kUnsupported);
}

// Statistics of the rows in the type U, with extent 1 for the reduced axes.
Tensor statistic(Tensor rows, const ConstView& x, int axis, DType dtype) {
  Shape shape = x.shape();
  for (int other = axis; other < x.rank(); ++other) shape[other] = 1;
  return Tensor::converted(std::move(rows).reshaped(shape), dtype);
}

}  // namespace

// Opset 17. Mean and InvStdDev keep the rank of X.
std::vector<Tensor> layer_normalization(const NodeCall& call) {
  const ConstView x = call.required(0, "X");
  const int axis = axis_of(call, -1, x.rank());
  const Shape shape = normalised_shape(x, axis);
  const DType stage = stage_type(call, x.dtype());
  const Tensor computed = Tensor::converted(x, stage);
  const Tensor scale =
      Tensor::converted(over_axes("Scale", call.required(1, "Scale"), shape), stage);
  const Tensor bias = call.input(2).given()
                          ? Tensor::converted(over_axes("B", call.input(2), shape), stage)
                          : Tensor::zeros(shape, stage);
  const LayerNormArgs args = {
      .x = computed, .weight = scale, .bias = bias, .epsilon = call.number("epsilon", 1e-5)};
  std::vector<Tensor> outputs(3);
  outputs[0] = Tensor::converted(layer_norm(args), x.dtype());
  if (!call.wants(1) && !call.wants(2)) return outputs;
  LayerNormStatistics statistics = layer_norm_statistics(args);
  const DType kept = call.integer("stash_type", 1) == 1 ? DType::kF32 : DType::kF64;
  outputs[1] = statistic(std::move(statistics.mean), x, axis, kept);
  outputs[2] = statistic(std::move(statistics.inverse_deviation), x, axis, kept);
  return outputs;
}

// Opset 23. The type of Y is that of the scale.
std::vector<Tensor> rms_normalization(const NodeCall& call) {
  const ConstView x = call.required(0, "X");
  const ConstView scale = call.required(1, "scale");
  const Shape shape = normalised_shape(x, axis_of(call, -1, x.rank()));
  const DType stage = stage_type(call, x.dtype());
  const Tensor computed = Tensor::converted(x, stage);
  const Tensor weight = Tensor::converted(over_axes("scale", scale, shape), stage);
  return outputs_of(Tensor::converted(
      rms_norm({.x = computed, .weight = weight, .epsilon = call.number("epsilon", 1e-5)}),
      scale.dtype()));
}

// Opset 20.
std::vector<Tensor> gelu(const NodeCall& call) {
  const std::string approximate = call.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    fail("Gelu", "approximate", fmt::format("'{}'", approximate), "none or tanh");
  return outputs_of(activate(call.required(0, "X"),
                             approximate == "tanh" ? Activation::kGeluTanh : Activation::kGelu));
}

// Opset 13; older ones flatten their input first.
std::vector<Tensor> softmax(const NodeCall& call) {
  const ConstView x = call.required(0, "input");
  return outputs_of(heed::softmax(x, axis_of(call, -1, x.rank())));
}

}  // namespace heed::onnx
