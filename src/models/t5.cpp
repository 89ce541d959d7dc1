#include "models/t5.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "models/parts.h"
#include "models/text_pass.h"
#include "nn/shown.h"
#include "ops/multiply.h"

namespace heed {
namespace {

Norm t5_norm(const std::string& name, const T5Config& config) {
  return {name, {.width = config.width, .epsilon = config.epsilon, .centred = false}};
}

// Builds one layer's parts; `branch` counts them as their names do.
class T5LayerParts {
 public:
  T5LayerParts(const T5Config& config, const std::string& side, Stack stack, int layer)
      : config_(config),
        stack_(stack),
        layer_(layer),
        name_(fmt::format("{}.block.{}.layer.", side, layer)) {}

  Residual<Attention> attention(const char* part, Stack stack,
                                std::shared_ptr<const PositionBias> bias, Mask mask) {
    const std::string name = fmt::format("{}{}.", name_, branch_);
    const std::int64_t all = config_.heads * config_.head_dim;
    const auto linear = [&](const char* what, std::int64_t in, std::int64_t out) {
      return Linear(name + part + what, {.in = in, .out = out, .bias = false});
    };
    const std::int64_t C = config_.width;
    Attention attention({.projections = separate_projections(
                             linear(".q", C, all), linear(".k", C, all), linear(".v", C, all)),
                         .out = linear(".o", all, C),
                         .bias = std::move(bias)},
                        {.stack = stack,
                         .layer = layer_,
                         .heads = config_.heads,
                         .kv_heads = config_.heads,
                         .head_dim = config_.head_dim,
                         .scale = 1,
                         .mask = std::move(mask)});
    return {norms(), std::move(attention), attention_names(stack, layer_)};
  }

  Residual<Mlp> mlp() {
    const std::int64_t C = config_.width, F = config_.inner;
    const bool gated = config_.gated;
    MlpParts parts{.up = linear(gated ? "wi_1" : "wi", C, F),
                   .activation = config_.activation,
                   .down = linear("wo", F, C),
                   .where = {.stack = stack_, .layer = layer_}};
    if (gated) parts.gate.emplace(linear("wi_0", C, F));
    return {norms(), Mlp(std::move(parts)), mlp_names(stack_, layer_)};
  }

 private:
  Linear linear(const char* what, std::int64_t in, std::int64_t out) const {
    return Linear(fmt::format("{}{}.DenseReluDense.{}", name_, branch_, what),
                  {.in = in, .out = out, .bias = false});
  }
  // The last of a branch that is made.
  Norms norms() {
    return {.before = t5_norm(fmt::format("{}{}.layer_norm", name_, branch_++), config_)};
  }

  const T5Config& config_;
  Stack stack_;
  int layer_;
  std::string name_;
  int branch_ = 0;
};

}  // namespace

T5::Side T5::make_side(const T5Config& config, Stack stack) {
  const bool encodes = stack != Stack::kDecoder;
  const std::string name = encodes ? "encoder" : "decoder";
  auto bias = std::make_shared<PositionBias>(
      name + ".block.0.layer.0.SelfAttention.relative_attention_bias",
      PositionBiasShape{.buckets = config.buckets,
                        .heads = config.heads,
                        .farthest = config.farthest,
                        .both_sides = encodes});
  Side side{.bias = bias, .layers = {}, .norm = t5_norm(name + ".final_layer_norm", config)};
  const std::int64_t layers = encodes ? config.layers : config.decoder_layers;
  for (int layer = 0; layer < layers; ++layer) {
    T5LayerParts parts(config, name, stack, layer);
    auto attention =
        parts.attention("SelfAttention", stack, bias, text_mask(config.causal && !encodes));
    std::optional<Residual<Attention>> cross;
    if (!encodes) cross.emplace(parts.attention("EncDecAttention", Stack::kCross, nullptr, {}));
    side.layers.push_back({std::move(attention), std::move(cross), parts.mlp()});
  }
  return side;
}

T5::T5(const T5Config& config)
    : config_(config),
      info_(config.info()),
      words_("shared", config.vocabulary, config.width),
      encoder_(make_side(config, config.has_decoder ? Stack::kEncoder : Stack::kSelf)) {
  if (config.has_decoder) decoder_.emplace(make_side(config, Stack::kDecoder));
  if (!config.has_words) return;
  if (config.tied)
    head_.emplace(words_.table(), WeightLayout::kOutIn);
  else
    head_.emplace("lm_head",
                  LinearShape{.in = config.width, .out = config.vocabulary, .bias = false});
}

Tensor T5::encode(const ConstView& ids, Run& run) const {
  const Shown show{run, decoder_ ? Stack::kEncoder : Stack::kSelf};
  Tensor x = show(TapKind::kEmbedding, words_.forward(ids));  // [B, S, C]
  for (const Layer& layer : encoder_.layers) {
    x = layer.attention.forward(std::move(x), run);
    x = layer.mlp.forward(std::move(x), run);
  }
  return show(TapKind::kFinal, encoder_.norm.forward(x, run));
}

Tensor T5::states(const Batch& batch, Run& run) const {
  if (decoder_) return Model::states(batch, run);  // which refuses
  check_pass(info_, batch, run);
  check_dropout(info_, "dropout_rate", config_.dropout, run);
  return encode(batch.ids, run);
}

// The states behind the decoder's last norm [B, T, C].
Tensor T5::decode(const Side& decoder, const Batch& batch, Run& run) const {
  const Shown show{run, Stack::kDecoder};
  Source source{.states = {}, .lengths = source_lengths(batch)};
  if (batch.source.given()) {
    Run reading = source_run(batch, run);
    source.states = encode(batch.source, reading);
  }
  Tensor x = show(TapKind::kEmbedding, words_.forward(batch.ids));  // [B, T, C]
  for (const Layer& layer : decoder.layers) {
    x = layer.attention.forward(std::move(x), run);
    if (layer.cross) x = layer.cross->forward(std::move(x), run, source);
    x = layer.mlp.forward(std::move(x), run);
  }
  return show(TapKind::kFinal, decoder.norm.forward(x, run));
}

Tensor T5::forward(const Batch& batch, Run& run) const {
  if (!decoder_) return wanted_rows(states(batch, run), run);
  check_pass(info_, batch, run);
  check_dropout(info_, "dropout_rate", config_.dropout, run);
  Tensor last = decode(*decoder_, batch, run);
  const auto counts = run.row_lengths(batch.ids.dim(0), batch.ids.dim(1));
  if (run.cache != nullptr) run.cache->advance(counts);
  if (!head_) return wanted_rows(std::move(last), run);
  if (config_.scaled_head) last = scaled(last.clone(), head_scale());
  return Shown{run, Stack::kDecoder}(TapKind::kLogits, logits_of(*head_, last, run));
}

Tensor T5::read_out(const Tensor& stream, Run& run) const {
  if (!head_ || !decoder_) return Model::read_out(stream, run);  // which refuses
  Tensor last = decoder_->norm.forward(stream, run);
  if (config_.scaled_head) last = scaled(std::move(last), head_scale());
  return logits_of(*head_, last, run);
}

// For a head whose words are as long as embeddings are.
double T5::head_scale() const { return 1 / std::sqrt(static_cast<double>(config_.width)); }

void T5::encode_backward(const Tensor& dstates, const ConstView& ids, Run& run,
                         Gradients& gradients) const {
  Tensor dx = encoder_.norm.backward(dstates, run, gradients);
  for (auto layer = encoder_.layers.rbegin(); layer != encoder_.layers.rend(); ++layer) {
    dx = layer->mlp.backward(dx, run, gradients);
    dx = layer->attention.backward(dx, run, gradients);
  }
  words_.backward(ids, dx, gradients);
}

void T5::states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                         Gradients& gradients) const {
  if (decoder_) return Model::states_backward(dstates, batch, run, gradients);  // which refuses
  check_saved(info_, run);
  encode_backward(dstates, batch.ids, run, gradients);
}

void T5::backward(const Tensor& dlogits, const Batch& batch, Run& run, Gradients& gradients) const {
  if (!decoder_) return states_backward(dlogits, batch, run, gradients);
  check_saved(info_, run);
  Tensor dx = dlogits.share();
  if (head_) dx = head_->backward(dx, run, gradients);
  if (head_ && config_.scaled_head) dx = scaled(std::move(dx), head_scale());
  dx = decoder_->norm.backward(dx, run, gradients);
  const Source source{.states = {}, .lengths = source_lengths(batch)};
  Tensor dstates =
      Tensor::zeros({batch.source.dim(0), batch.source.dim(1), config_.width}, dx.dtype());
  for (auto at = decoder_->layers.rbegin(); at != decoder_->layers.rend(); ++at) {
    const Layer& layer = *at;
    dx = layer.mlp.backward(dx, run, gradients);
    if (layer.cross) dx = layer.cross->backward(dx, run, gradients, source, dstates);
    dx = layer.attention.backward(dx, run, gradients);
  }
  words_.backward(batch.ids, dx, gradients);
  Run reading = source_run(batch, run);
  encode_backward(dstates, batch.source, reading, gradients);
}

void T5::Side::collect(std::vector<Parameter*>& into) {
  bias->collect(into);
  for (Layer& layer : layers) {
    layer.attention.collect(into);
    if (layer.cross) layer.cross->collect(into);
    layer.mlp.collect(into);
  }
  norm.collect(into);
}

ModelParts T5::parts() const {
  const auto stream = [&](const Side& side, Stack stack) {
    StreamParts parts{.stack = stack, .words = &words_, .last = side.norm.numbers()};
    for (const Layer& layer : side.layers) {
      const auto index = static_cast<int>(&layer - side.layers.data());
      parts.branches.push_back(branch_parts(layer.attention, stack, index));
      if (layer.cross) parts.branches.push_back(branch_parts(*layer.cross, Stack::kCross, index));
      parts.branches.push_back(branch_parts(layer.mlp, stack, index));
    }
    return parts;
  };
  if (!decoder_) return {.streams = {stream(encoder_, Stack::kSelf)}};
  return {.streams = {stream(encoder_, Stack::kEncoder), stream(*decoder_, Stack::kDecoder)},
          .words = head_ ? &*head_ : nullptr,
          .words_scale = config_.scaled_head ? head_scale() : 1};
}

std::vector<Parameter*> T5::parameters() {
  std::vector<Parameter*> all;
  words_.collect(all);
  encoder_.collect(all);
  if (decoder_) decoder_->collect(all);
  if (head_ && !config_.tied) head_->collect(all);
  return all;
}

}  // namespace heed
