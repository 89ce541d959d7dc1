// Attention, opsets 23, 24 and 25.
#include "heed/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heed/error.h"
#include "onnx/operators/attention.h"
#include "tensor/text.h"

namespace heed::onnx {
namespace {

// The cache followed by the new tokens, [B, G, past + T, D].
Tensor concatenated(const ConstView& past, const ConstView& now) {
  if (!past.given()) return Tensor::copy_of(now);
  if (past.rank() != 4 || past.dtype() != now.dtype() || past.dim(0) != now.dim(0) ||
      past.dim(1) != now.dim(1) || past.dim(3) != now.dim(3))
    fail("Attention", "past", to_string(past),
         fmt::format("one that the new tokens, {}, continue", to_string(now)));
  const std::int64_t before = past.dim(2);
  const std::int64_t width = now.dim(3) * static_cast<std::int64_t>(size_bytes(now.dtype()));
  Tensor all =
      Tensor::empty({now.dim(0), now.dim(1), before + now.dim(2), now.dim(3)}, now.dtype());
  const Tensor first = Tensor::copy_of(past);
  const Tensor second = Tensor::copy_of(now);
  const auto* from_first = static_cast<const std::byte*>(first.view().raw());
  const auto* from_second = static_cast<const std::byte*>(second.view().raw());
  auto* to = static_cast<std::byte*>(all.view().raw());
  for (std::int64_t place = 0; place < now.dim(0) * now.dim(1); ++place) {
    to = std::copy_n(from_first + place * before * width, before * width, to);
    to = std::copy_n(from_second + place * now.dim(2) * width, now.dim(2) * width, to);
  }
  return all;
}

// The precision of scores and weights: at least f32, f64 if requested. Lower requests use more.
DType computed_type(const NodeCall& call, DType of_q) {
  constexpr std::int64_t kDouble = 11;
  const bool wide = of_q == DType::kF64 || call.integer("softmax_precision", 1) == kDouble;
  return wide ? DType::kF64 : DType::kF32;
}

double scale_of(const NodeCall& call, const ConstView& q) {
  return call.has("scale") ? call.number("scale", 0) : 1 / std::sqrt(static_cast<double>(q.dim(3)));
}

ScoreStage stage_of(const NodeCall& call) {
  const std::int64_t mode = call.integer("qk_matmul_output_mode", 0);
  if (0 > mode || mode > 3) fail("Attention", "qk_matmul_output_mode", mode, "0 to 3");
  return static_cast<ScoreStage>(mode);
}

}  // namespace

std::vector<Tensor> attention(const NodeCall& call) {
  const ConstView given = call.required(0, "Q");
  const std::int64_t kv_heads = call.integer("kv_num_heads", 0);
  const ConstView past = call.input(4);
  if (past.given() != call.input(5).given())
    fail("Attention", past.given() ? "past_value" : "past_key", {},
         past.given() ? "one, as past_key is given" : "one, as past_value is given");
  const DType computed = computed_type(call, given.dtype());
  std::vector<Tensor> outputs(4);
  outputs[1] = concatenated(past, with_heads(call.required(1, "K"), kv_heads, "K"));
  outputs[2] = concatenated(call.input(5), with_heads(call.required(2, "V"), kv_heads, "V"));
  const Tensor q =
      Tensor::converted(with_heads(given, call.integer("q_num_heads", 0), "Q"), computed);
  const Tensor k = Tensor::converted(outputs[1], computed);
  const Tensor v = Tensor::converted(outputs[2], computed);
  AttentionArgs args = {.q = q, .keys = {.k = k, .v = v}};
  args.scores.scale = {scale_of(call, q)};
  args.scores.softcap = call.number("softcap", 0);
  AttentionMask mask(call, q.dim(2), past.given() ? past.dim(2) : 0, k.dim(2));
  mask.apply(args, computed);
  const Attended attended = heed::attention(args);
  outputs[0] = packed_heads(Tensor::converted(attended.out, given.dtype()), given.rank() == 3);
  if (call.wants(3))
    outputs[3] = Tensor::converted(scores_after(stage_of(call), args, attended), given.dtype());
  return outputs;
}

}  // namespace heed::onnx
