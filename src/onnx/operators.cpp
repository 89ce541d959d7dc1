#include "onnx/operators.h"

#include <fmt/format.h>

#include "heed/error.h"

namespace heed::onnx {

// Each is in its own file, in operators/.
std::vector<Tensor> attention(const NodeCall& call);
std::vector<Tensor> gelu(const NodeCall& call);
std::vector<Tensor> layer_normalization(const NodeCall& call);
std::vector<Tensor> linear_attention(const NodeCall& call);
std::vector<Tensor> rms_normalization(const NodeCall& call);
std::vector<Tensor> rotary_embedding(const NodeCall& call);
std::vector<Tensor> softmax(const NodeCall& call);
std::vector<Tensor> tensor_scatter(const NodeCall& call);

std::span<const Operator> operators() {
  static const std::vector<Operator> table = {
      {"Attention",
       23,
       {"is_causal", "kv_num_heads", "left_window_size", "q_num_heads", "qk_matmul_output_mode",
        "right_window_size", "scale", "softcap", "softmax_precision"},
       attention},
      {"Gelu", 20, {"approximate"}, gelu},
      {"LayerNormalization", 17, {"axis", "epsilon", "stash_type"}, layer_normalization},
      {"LinearAttention",
       27,
       {"chunk_size", "kv_num_heads", "q_num_heads", "scale", "update_rule"},
       linear_attention},
      {"RMSNormalization", 23, {"axis", "epsilon", "stash_type"}, rms_normalization},
      {"RotaryEmbedding",
       23,
       {"interleaved", "num_heads", "rotary_embedding_dim"},
       rotary_embedding},
      {"Softmax", 13, {"axis"}, softmax},
      {"TensorScatter", 24, {"axis", "mode"}, tensor_scatter},
  };
  return table;
}

ConstView NodeCall::input(std::size_t place) const {
  return place < inputs.size() && inputs[place].given() ? inputs[place].view() : ConstView();
}

ConstView NodeCall::required(std::size_t place, std::string_view name) const {
  const ConstView view = input(place);
  if (!view.given()) fail({.code = ErrorCode::kUnsupported, .op = node.op_type, .argument = name});
  return view;
}

bool NodeCall::wants(std::size_t output) const {
  return output < node.outputs.size() && !node.outputs[output].empty();
}

std::int64_t NodeCall::integer(const std::string& attribute, std::int64_t otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : found->second.integer;
}

double NodeCall::number(const std::string& attribute, double otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : found->second.number;
}

std::string NodeCall::text(const std::string& attribute, const std::string& otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : found->second.text;
}

int axis_of(const NodeCall& call, std::int64_t otherwise, int rank) {
  const std::int64_t axis = call.integer("axis", otherwise);
  if (-rank > axis || axis >= rank)
    fail(call.node.op_type, "axis", axis, fmt::format("one of rank {}", rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace heed::onnx
