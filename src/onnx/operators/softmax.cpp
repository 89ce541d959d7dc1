// Softmax, opset 13 (older ones flatten their input first).
#include "heed/ops/softmax.h"

#include "onnx/operators.h"

namespace heed::onnx {

std::vector<Tensor> softmax(const NodeCall& call) {
  const ConstView x = call.required(0, "input");
  std::vector<Tensor> outputs;
  outputs.push_back(heed::softmax(x, axis_of(call, -1, x.rank())));
  return outputs;
}

}  // namespace heed::onnx
