// Gelu, opset 20.
#include <fmt/format.h>

#include "heed/error.h"
#include "onnx/operators.h"
#include "ops/activation.h"

namespace heed::onnx {

std::vector<Tensor> gelu(const NodeCall& call) {
  const std::string approximate = call.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    fail("Gelu", "approximate", fmt::format("'{}'", approximate), "none or tanh");
  std::vector<Tensor> outputs;
  outputs.push_back(activate(call.required(0, "X"),
                             approximate == "tanh" ? Activation::kGeluTanh : Activation::kGelu));
  return outputs;
}

}  // namespace heed::onnx
