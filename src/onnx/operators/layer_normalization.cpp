// LayerNormalization, opset 17. Mean and InvStdDev keep the rank of X.
#include "heed/ops/norm.h"
#include "onnx/operators/normalised_axes.h"

namespace heed::onnx {
namespace {

// Statistics of the rows in the type U, with extent 1 for the axes that they went over.
Tensor statistic(Tensor rows, const ConstView& x, int axis, DType dtype) {
  Shape shape = x.shape();
  for (int other = axis; other < x.rank(); ++other) shape[other] = 1;
  return Tensor::converted(std::move(rows).reshaped(shape), dtype);
}

}  // namespace

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

}  // namespace heed::onnx
