#include "models/seq2seq.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "models/parts.h"
#include "models/text_pass.h"
#include "nn/shown.h"
#include "nn/sinusoids.h"
#include "ops/add.h"
#include "ops/multiply.h"

namespace heed {
namespace {

constexpr double kSeq2seqEpsilon = 1e-5;  // of every norm: no configuration tells

const char* name_of(Stack stack) { return stack == Stack::kEncoder ? "encoder" : "decoder"; }

// Builds one layer's parts from their names.
class LayerParts {
 public:
  LayerParts(const Seq2seqConfig& config, Stack stack, int layer)
      : config_(config),
        of_encoder_(stack == Stack::kEncoder),
        side_(of_encoder_ ? config.encoder : config.decoder),
        layer_(layer),
        name_(fmt::format("model.{}.layers.{}.", name_of(stack), layer)) {}

  Residual<Attention> attention(const char* part, Stack stack, Mask mask) {
    const std::int64_t C = config_.width;
    const std::int64_t head_dim = C / side_.heads;
    const auto linear = [&](const char* what) {
      return Linear(name_ + part + what, {.in = C, .out = C});
    };
    Attention attention({.projections = separate_projections(linear(".q_proj"), linear(".k_proj"),
                                                             linear(".v_proj")),
                         .out = linear(".out_proj"),
                         .dropout = next_dropout()},
                        {.stack = stack,
                         .layer = layer_,
                         .heads = side_.heads,
                         .kv_heads = side_.heads,
                         .head_dim = head_dim,
                         .scale = 1 / std::sqrt(static_cast<double>(head_dim)),
                         .dropout = config_.attention_dropout,
                         .mask = std::move(mask)});
    return {norms(name_ + part + "_layer_norm"), std::move(attention),
            attention_names(stack, layer_)};
  }

  Residual<Mlp> mlp(Stack stack) {
    Mlp mlp({.up = Linear(name_ + "fc1", {.in = config_.width, .out = side_.inner}),
             .activation = config_.activation,
             .down = Linear(name_ + "fc2", {.in = side_.inner, .out = config_.width}),
             .dropout = next_dropout(),
             .where = {.stack = stack, .layer = layer_}});
    return {norms(name_ + "final_layer_norm"), std::move(mlp), mlp_names(stack, layer_)};
  }

 private:
  Norms norms(const std::string& name) const {
    Norm norm(name, {.width = config_.width, .epsilon = kSeq2seqEpsilon});
    if (config_.norms_first) return {.before = std::move(norm)};
    return {.after = std::move(norm)};
  }

  // Sites 0 and 1 are the embeddings'; a decoder's layer has three, an encoder's two.
  DropoutLayer next_dropout() {
    const std::int64_t before = of_encoder_ ? 2 * layer_ : 2 * config_.encoder.layers + 3 * layer_;
    return {.rate = config_.dropout, .site = static_cast<std::uint32_t>(2 + before + branch_++)};
  }

  const Seq2seqConfig& config_;
  bool of_encoder_;
  const Seq2seqConfig::Side& side_;
  int layer_;
  std::string name_;
  int branch_ = 0;
};

}  // namespace

Seq2seq::Side Seq2seq::make_side(const Seq2seqConfig& config, Stack stack,
                                 const Embedding* shared) {
  const bool encodes = stack == Stack::kEncoder;
  const Seq2seqConfig::Side& numbers = encodes ? config.encoder : config.decoder;
  const std::string name = std::string("model.") + name_of(stack);
  Side side{.words = shared != nullptr
                         ? Embedding(shared->table())
                         : Embedding(name + ".embed_tokens", numbers.vocabulary, config.width),
            .positions = {},
            .dropout = {.rate = config.dropout, .site = encodes ? 0U : 1U},
            .layers = {},
            .norm = {}};
  if (config.position_table)
    side.positions.emplace(name + ".embed_positions", config.positions, config.width);
  for (int layer = 0; layer < numbers.layers; ++layer) {
    LayerParts parts(config, stack, layer);
    auto attention = parts.attention("self_attn", stack, text_mask(config.causal && !encodes));
    std::optional<Residual<Attention>> cross;
    if (!encodes) cross.emplace(parts.attention("encoder_attn", Stack::kCross, {}));
    side.layers.push_back({std::move(attention), std::move(cross), parts.mlp(stack)});
  }
  if (config.norms_first)
    side.norm.emplace(name + ".layer_norm",
                      NormShape{.width = config.width, .epsilon = kSeq2seqEpsilon});
  return side;
}

Seq2seq::Seq2seq(const Seq2seqConfig& config)
    : config_(config),
      info_(config.info()),
      shared_(config.shared_words ? std::optional(Embedding(
                                        "model.shared", config.encoder.vocabulary, config.width))
                                  : std::nullopt),
      encoder_(make_side(config, Stack::kEncoder, shared_ ? &*shared_ : nullptr)),
      decoder_(make_side(config, Stack::kDecoder, shared_ ? &*shared_ : nullptr)),
      head_(config.tied
                ? Linear(decoder_.words.table(), WeightLayout::kOutIn)
                : Linear("lm_head",
                         {.in = config.width, .out = config.decoder.vocabulary, .bias = false})),
      bias_("final_logits_bias", {1, config.decoder.vocabulary}) {}

Tensor Seq2seq::embed(const Side& side, Stack stack, const ConstView& ids, Run& run) const {
  const Shown show{run, stack};
  const Tensor positions = positions_of(ids, run, config_.positions);
  Tensor x = scaled(side.words.forward(ids), config_.word_scale);
  const Tensor places = side.positions ? side.positions->forward(positions)
                                       : sinusoids(positions, config_.width, x.dtype());
  x = add(std::move(x), places);
  return show(TapKind::kEmbedding, side.dropout.forward(std::move(x), run));  // [B, T, C]
}

Tensor Seq2seq::encode(const Batch& batch, Run& run) const {
  const Shown show{run, Stack::kEncoder};
  Tensor x = embed(encoder_, Stack::kEncoder, batch.source, run);  // [B, S, C]
  for (const Layer& layer : encoder_.layers)
    x = layer.mlp.forward(layer.attention.forward(std::move(x), run), run);
  if (encoder_.norm) x = encoder_.norm->forward(x, run);
  return show(TapKind::kFinal, std::move(x));
}

Tensor Seq2seq::forward(const Batch& batch, Run& run) const {
  check_pass(info_, batch, run);
  check_dropout(info_, "activation_dropout", config_.activation_dropout, run);
  const Shown show{run, Stack::kDecoder};
  Source source{.states = {}, .lengths = source_lengths(batch)};
  if (batch.source.given()) {
    Run reading = source_run(batch, run);
    source.states = encode(batch, reading);
  }
  Tensor x = embed(decoder_, Stack::kDecoder, batch.ids, run);  // [B, T, C]
  for (const Layer& layer : decoder_.layers) {
    x = layer.attention.forward(std::move(x), run);
    if (layer.cross) x = layer.cross->forward(std::move(x), run, source);
    x = layer.mlp.forward(std::move(x), run);
  }
  if (decoder_.norm) x = decoder_.norm->forward(x, run);
  x = show(TapKind::kFinal, std::move(x));
  Tensor logits = bias_.forward(logits_of(head_, x, run));  // [B, T or 1, V]
  if (run.cache != nullptr) run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
  return show(TapKind::kLogits, std::move(logits));
}

Tensor Seq2seq::read_out(const Tensor& stream, Run& run) const {
  const Tensor last = decoder_.norm ? decoder_.norm->forward(stream, run) : stream.share();
  return bias_.forward(logits_of(head_, last, run));
}

void Seq2seq::embed_backward(const Side& side, const Tensor& dx, const ConstView& ids,
                             const Run& run, Gradients& gradients) const {
  Tensor dsum = side.dropout.backward(dx, run);
  if (side.positions)
    side.positions->backward(positions_of(ids, run, config_.positions), dsum, gradients);
  side.words.backward(ids, scaled(dsum.clone(), config_.word_scale), gradients);
}

void Seq2seq::backward(const Tensor& dlogits, const Batch& batch, Run& run,
                       Gradients& gradients) const {
  check_saved(info_, run);
  bias_.backward(dlogits, gradients);
  Tensor dx = head_.backward(dlogits, run, gradients);
  const Source source{.states = {}, .lengths = source_lengths(batch)};
  Tensor dstates =
      Tensor::zeros({batch.source.dim(0), batch.source.dim(1), config_.width}, dx.dtype());
  if (decoder_.norm) dx = decoder_.norm->backward(dx, run, gradients);
  for (auto at = decoder_.layers.rbegin(); at != decoder_.layers.rend(); ++at) {
    const Layer& layer = *at;
    dx = layer.mlp.backward(dx, run, gradients);
    if (layer.cross) dx = layer.cross->backward(dx, run, gradients, source, dstates);
    dx = layer.attention.backward(dx, run, gradients);
  }
  embed_backward(decoder_, dx, batch.ids, run, gradients);
  Run reading = source_run(batch, run);
  dx = encoder_.norm ? encoder_.norm->backward(dstates, reading, gradients) : dstates.share();
  for (auto layer = encoder_.layers.rbegin(); layer != encoder_.layers.rend(); ++layer)
    dx = layer->attention.backward(layer->mlp.backward(dx, reading, gradients), reading, gradients);
  embed_backward(encoder_, dx, batch.source, reading, gradients);
}

void Seq2seq::Side::collect(std::vector<Parameter*>& into) {
  if (positions) positions->collect(into);
  for (Layer& layer : layers) {
    layer.attention.collect(into);
    if (layer.cross) layer.cross->collect(into);
    layer.mlp.collect(into);
  }
  if (norm) norm->collect(into);
}

ModelParts Seq2seq::parts() const {
  const auto stream = [&](const Side& side, Stack stack) {
    StreamParts parts{.stack = stack,
                      .words = &side.words,
                      .word_scale = config_.word_scale,
                      .positions = side.positions ? &*side.positions : nullptr};
    for (const Layer& layer : side.layers) {
      const auto index = static_cast<int>(&layer - side.layers.data());
      parts.branches.push_back(branch_parts(layer.attention, stack, index));
      if (layer.cross) parts.branches.push_back(branch_parts(*layer.cross, Stack::kCross, index));
      parts.branches.push_back(branch_parts(layer.mlp, stack, index));
    }
    if (side.norm) parts.last = side.norm->numbers();
    return parts;
  };
  return {.streams = {stream(encoder_, Stack::kEncoder), stream(decoder_, Stack::kDecoder)},
          .words = &head_};
}

std::vector<Parameter*> Seq2seq::parameters() {
  std::vector<Parameter*> all;
  if (shared_) {
    shared_->collect(all);
  } else {
    encoder_.words.collect(all);
    decoder_.words.collect(all);
  }
  encoder_.collect(all);
  decoder_.collect(all);
  if (!config_.tied) head_.collect(all);
  bias_.collect(all);
  return all;
}

}  // namespace heed
