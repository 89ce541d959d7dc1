// RMSNormalization, opset 23. The type of Y is that of the scale.
#include "heed/ops/rms_norm.h"
#include "onnx/operators/normalised_axes.h"

namespace heed::onnx {

std::vector<Tensor> rms_normalization(const NodeCall& call) {
  const ConstView x = call.required(0, "X");
  const ConstView scale = call.required(1, "scale");
  const Shape shape = normalised_shape(x, axis_of(call, -1, x.rank()));
  const DType stage = stage_type(call, x.dtype());
  const Tensor computed = Tensor::converted(x, stage);
  const Tensor weight = Tensor::converted(over_axes("scale", scale, shape), stage);
  std::vector<Tensor> outputs;
  outputs.push_back(Tensor::converted(
      rms_norm({.x = computed, .weight = weight, .epsilon = call.number("epsilon", 1e-5)}),
      scale.dtype()));
  return outputs;
}

}  // namespace heed::onnx
