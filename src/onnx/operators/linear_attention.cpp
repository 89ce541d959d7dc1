// LinearAttention, opset 27.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "heed/error.h"
#include "heed/operators.h"
#include "onnx/operators.h"

namespace heed::onnx {
namespace {

UpdateRule rule_of(const NodeCall& call) {
  constexpr std::pair<std::string_view, UpdateRule> kRules[] = {
      {"linear", UpdateRule::kSum},
      {"gated", UpdateRule::kGated},
      {"delta", UpdateRule::kDelta},
      {"gated_delta", UpdateRule::kGatedDelta}};
  const std::string wanted = call.text("update_rule", "gated_delta");
  for (const auto& [name, rule] : kRules)
    if (name == wanted) return rule;
  fail("LinearAttention", "update_rule", fmt::format("'{}'", wanted),
       "linear, gated, delta or gated_delta");
}

// [B, T, G] as [B, G, T].
ConstView heads_first(const ConstView& beta) {
  return beta.given() ? beta.permute({0, 2, 1}) : beta;
}

}  // namespace

std::vector<Tensor> linear_attention(const NodeCall& call) {
  const ConstView query = call.required(0, "query");
  const std::int64_t heads = call.integer("q_num_heads", 0);
  const std::int64_t kv_heads = call.integer("kv_num_heads", 0);
  const ConstView state = call.input(3);
  const ConstView decay = call.input(4);
  const double scale = call.number("scale", 0);
  LinearAttentionArgs args = {.q = with_heads(query, heads, "query"),
                              .k = with_heads(call.required(1, "key"), kv_heads, "key"),
                              .v = with_heads(call.required(2, "value"), kv_heads, "value"),
                              .state = state,
                              .decay = decay.given() ? with_heads(decay, kv_heads, "decay") : decay,
                              .beta = heads_first(call.input(5)),
                              .rule = rule_of(call)};
  args.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(args.q.dim(3)));
  LinearAttended attended = heed::linear_attention(args);
  const DType state_type = state.given() ? state.dtype() : query.dtype();
  return outputs_of(packed_heads(std::move(attended.out), true),
                    Tensor::converted(attended.state, state_type));
}

}  // namespace heed::onnx
