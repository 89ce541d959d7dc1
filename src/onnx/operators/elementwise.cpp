
#include "ops/elementwise.h"

#include <fmt/format.h>

#include "heed/error.h"
#include "heed/operators.h"
#include "onnx/operators.h"

namespace heed::onnx {

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
