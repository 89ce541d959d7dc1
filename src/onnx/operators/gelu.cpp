// Gelu, opset 20.
#include "heed/base/error.h"
#include "onnx/operators.h"
#include "ops/activation.h"

namespace heed::onnx {

std::vector<Tensor> gelu(const NodeCall& call) {
  const std::string approximate = call.text("approximate", "none");
  require(approximate == "none" || approximate == "tanh",
          "Gelu: approximate is '{}', expected none or tanh", approximate);
  std::vector<Tensor> outputs;
  outputs.push_back(activate(call.required(0, "X"),
                             approximate == "tanh" ? Activation::kGeluTanh : Activation::kGelu));
  return outputs;
}

}  // namespace heed::onnx
