#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/wording.h"
#include "heed/observe.h"
#include "heed/operators.h"
#include "inspect/golden/golden_check.h"
#include "ops/loss.h"
#include "tensor/text.h"

namespace heed {
namespace {

// "", "encoder_", "decoder_", "cross_".
std::string prefix_of(Stack stack) {
  return stack == Stack::kSelf ? "" : std::string(stack_name(stack)) + "_";
}

// Names in files with every internal value of a layer: layer.0.ln_1.
constexpr std::array<std::pair<TapKind, const char*>, 10> kInternals = {
    {{TapKind::kAttentionInput, "ln_1"},
     {TapKind::kQuery, "q"},
     {TapKind::kKey, "k"},
     {TapKind::kValue, "v"},
     {TapKind::kAttention, "attn_proj"},
     {TapKind::kMiddle, "attn_residual"},
     {TapKind::kMlpInput, "ln_2"},
     {TapKind::kMlpHidden, "fc"},
     {TapKind::kMlpActive, "gelu"},
     {TapKind::kMlp, "mlp"}}};

// scale q . k of every pair, [B, H, Tq, Tk].
Tensor scores_of(const AttentionArgs& args) {
  const Tensor q = Tensor::converted(args.q, DType::kF64);
  const Tensor k = Tensor::converted(args.keys.k, DType::kF64);
  const std::int64_t H = q.dim(1), Tq = q.dim(2), Tk = k.dim(2), D = q.dim(3);
  const std::int64_t shared = H / k.dim(1);
  Tensor scores = Tensor::empty({q.dim(0), H, Tq, Tk});
  float* score = scores.data<float>();
  for (std::int64_t bh = 0; bh < q.dim(0) * H; ++bh) {
    const double* queries = q.data<double>() + bh * Tq * D;
    const double* keys = k.data<double>() + bh / shared * Tk * D;
    for (std::int64_t i = 0; i < Tq; ++i)
      for (std::int64_t j = 0; j < Tk; ++j) {
        double sum = 0;
        for (std::int64_t d = 0; d < D; ++d) sum += queries[i * D + d] * keys[j * D + d];
        *score++ = static_cast<float>(args.scores.scale.at(0) * sum);
      }
  }
  return scores;
}

}  // namespace

void GoldenTap::keep(const std::string& name, const ConstView& value, int rows_axis,
                     bool of_source) {
  if (golden_.contains(name)) values[name] = {Tensor::copy_of(value), rows_axis, of_source};
}

void GoldenTap::at(const TapName& name, View value) {
  const std::string stack = prefix_of(name.stack);
  const bool of_source = name.stack == Stack::kEncoder;
  const std::string layer = fmt::format("layer.{}.", name.layer);
  for (const auto& [kind, internal] : kInternals)
    if (kind == name.kind && name.stack == Stack::kSelf)
      keep(layer + internal, value, value.rank() == 4 ? 2 : 1, of_source);
  switch (name.kind) {
    case TapKind::kEmbedding:
      keep(stack + "hidden_states.0", value, 1, of_source);
      return keep("embedding", value, 1, of_source);
    case TapKind::kResidual:
      keep(fmt::format("{}hidden_states.{}", stack, name.layer + 1), value, 1, of_source);
      return keep(layer + "block", value, 1, of_source);
    case TapKind::kFinal:
      keep(of_source ? "encoder_last_hidden_state" : "last_hidden_state", value, 1, of_source);
      return keep("ln_f", value, 1, of_source);
    case TapKind::kHeads: {  // [B, H, T, D] to [B, T, C]
      const Tensor joined = Tensor::copy_of(value.permute({0, 2, 1, 3}));
      const Shape rows = {joined.dim(0), joined.dim(1), joined.dim(2) * joined.dim(3)};
      return keep(layer + "attn", joined.view().reshape(rows), 1, of_source);
    }
    default:
      return;
  }
}

void GoldenTap::attended(const TapName& name, const AttentionArgs& args,
                         const AttendedConstView& attended) {
  const bool of_source = name.stack == Stack::kEncoder;
  const std::string weights = fmt::format("{}attentions.{}", prefix_of(name.stack), name.layer);
  const std::string layer = fmt::format("layer.{}.", name.layer);
  if (golden_.contains(weights) || golden_.contains(layer + "weights")) {
    SelectionObserver observer;
    Observer* const observers[] = {&observer};
    observe(args, attended, observers);
    keep(weights, observer.values, 2, of_source);
    keep(layer + "weights", observer.values, 2, of_source);
  }
  if (golden_.contains(layer + "scores")) keep(layer + "scores", scores_of(args), 2, of_source);
}

void refuse_golden(const Safetensors& golden, const std::string& name, Phrase found,
                   Phrase expected) {
  fail_in(golden.path().string(), name, std::move(found), std::move(expected));
}

Tensor golden_ids(const Safetensors& golden, const GoldenIds& wanted) {
  const ConstView stored = golden.tensor(wanted.name);
  const bool is_i32 = stored.dtype() == DType::kI32;
  if ((!is_i32 && stored.dtype() != DType::kI64) || stored.rank() != 2)
    refuse_golden(golden, wanted.name, to_string(stored), "i64 or i32 [batch, tokens]");
  Tensor ids = Tensor::empty(stored.shape(), DType::kI32);
  const Tensor copy = Tensor::copy_of(stored);  // aligned
  for (std::int64_t i = 0; i < ids.element_count(); ++i) {
    const std::int64_t id = is_i32 ? copy.data<std::int32_t>()[i] : copy.data<std::int64_t>()[i];
    const bool ignored = wanted.may_be_ignored && id == kIgnoredTarget;
    if (!ignored && (id < 0 || id >= wanted.end))
      refuse_golden(golden, fmt::format("{}[{}, {}]", wanted.name, i / ids.dim(1), i % ids.dim(1)),
                    id, fmt::format("0 to {}", wanted.end - 1));
    ids.data<std::int32_t>()[i] = static_cast<std::int32_t>(id);
  }
  return ids;
}

namespace {

// From an attention_mask of ones followed by zeros.
std::vector<std::int64_t> lengths_of(const Safetensors& golden, const Tensor& ids) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(ids.dim(0)), ids.dim(1));
  if (!golden.contains("attention_mask")) return lengths;
  const Tensor mask = golden_ids(golden, {.name = "attention_mask", .end = 2});
  if (mask.shape() != ids.shape())
    refuse_golden(golden, "attention_mask.shape", to_string(mask.shape()), to_string(ids.shape()));
  for (std::int64_t b = 0; b < mask.dim(0); ++b) {
    const std::int32_t* row = mask.data<std::int32_t>() + b * mask.dim(1);
    std::int64_t& length = lengths[static_cast<std::size_t>(b)];
    length = 0;
    while (length < mask.dim(1) && row[length] == 1) ++length;
    for (std::int64_t t = length; t < mask.dim(1); ++t)
      if (row[t] != 0)
        refuse_golden(golden, fmt::format("attention_mask[{}]", b), "of another form",
                      "ones, then zeros: padding on the right");
  }
  return lengths;
}

void keep_logits(const Safetensors& golden, GoldenPass& pass, Tensor logits) {
  if (golden.contains("probs")) pass.values["probs"] = {softmax(logits), 1, false};
  pass.values["logits"] = {std::move(logits), 1, false};
}

// Not given if the file has none.
Tensor types_of(const Safetensors& golden, const ModelInfo& info, const Tensor& ids) {
  if (!golden.contains("token_type_ids")) return {};
  Tensor types = golden_ids(golden, {.name = "token_type_ids", .end = info.token_types});
  if (types.shape() != ids.shape())
    refuse_golden(golden, "token_type_ids.shape", to_string(types.shape()), to_string(ids.shape()));
  return types;
}

}  // namespace

GoldenPass golden_pass(const Safetensors& golden, const Model& model) {
  const ModelInfo& info = model.info();
  GoldenPass pass;
  GoldenTap tap(golden);
  Run run;
  run.tap = &tap;
  Tensor ids = golden_ids(
      golden,
      {.name = "input_ids", .end = info.reads_source() ? info.source_vocabulary : info.vocabulary});
  pass.lengths = lengths_of(golden, ids);
  Batch batch;
  if (info.reads_source()) {
    pass.source = std::move(ids);
    pass.source_lengths = std::move(pass.lengths);
    pass.ids = golden_ids(golden, {.name = "decoder_input_ids", .end = info.vocabulary});
    pass.lengths.assign(static_cast<std::size_t>(pass.ids.dim(0)), pass.ids.dim(1));
    batch.source = pass.source;
    batch.source_lengths = pass.source_lengths;
  } else {
    pass.ids = std::move(ids);
    run.extents = {.query_length = pass.lengths, .key_length = pass.lengths};
  }
  batch.ids = pass.ids;
  pass.types = types_of(golden, info, pass.ids);
  if (pass.types.given()) batch.types = pass.types;
  Tensor logits = model.forward(batch, run);
  pass.values = std::move(tap.values);
  if (info.has_logits) keep_logits(golden, pass, std::move(logits));
  return pass;
}

}  // namespace heed
