#include "models/rotary_decoder.h"

#include <fmt/format.h>

#include <utility>

#include "models/parts.h"
#include "models/text_pass.h"
#include "nn/shown.h"
#include "ops/multiply.h"
#include "ops/softcap.h"

namespace heed {

Tensor RotaryDecoder::states(const Batch& batch, Run& run) const {
  check_pass(parts_.info, batch, run);
  const Shown show{run};
  Tensor x = parts_.tokens.forward(batch.ids);
  if (parts_.embedding_scale != 1) x = scaled(std::move(x), parts_.embedding_scale);
  x = show(TapKind::kEmbedding, parts_.dropout.forward(std::move(x), run));  // [B, T, C]
  for (const Block& block : parts_.blocks)
    x = block.mlp.forward(block.attention.forward(std::move(x), run), run);
  return show(TapKind::kFinal, parts_.norm.forward(x, run));
}

Tensor RotaryDecoder::forward(const Batch& batch, Run& run) const {
  const Tensor last = states(batch, run);
  Tensor shown = parts_.head ? Shown{run}(TapKind::kLogits, logits(last, run))  // [B, T or 1, V]
                             : last.share();                                    // [B, T, C]
  if (run.cache != nullptr) run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
  return shown;
}

Tensor RotaryDecoder::read_out(const Tensor& stream, Run& run) const {
  if (!parts_.head) return Model::read_out(stream, run);  // which refuses
  return logits(parts_.norm.forward(stream, run), run);
}

Tensor RotaryDecoder::logits(const Tensor& last, Run& run) const {
  if (!parts_.head) return {};  // both callers have asked
  Tensor logits = logits_of(*parts_.head, last, run);
  if (parts_.logit_cap == 0) return logits;
  logits = softcapped(std::move(logits), parts_.logit_cap);
  if (run.saved != nullptr) run.saved->put(logits.clone());  // a caller may overwrite its own
  return logits;
}

void RotaryDecoder::backward(const Tensor& dlogits, const Batch& batch, Run& run,
                             Gradients& gradients) const {
  check_saved(parts_.info, run);
  Tensor duncapped = dlogits.share();
  if (parts_.logit_cap > 0)
    duncapped = softcap_backward(run.saved->take(), parts_.logit_cap, dlogits);
  if (parts_.head) duncapped = parts_.head->backward(duncapped, run, gradients);
  states_backward(duncapped, batch, run, gradients);
}

void RotaryDecoder::states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                                    Gradients& gradients) const {
  check_saved(parts_.info, run);
  Tensor dx = parts_.norm.backward(dstates, run, gradients);
  for (auto block = parts_.blocks.rbegin(); block != parts_.blocks.rend(); ++block)
    dx = block->attention.backward(block->mlp.backward(dx, run, gradients), run, gradients);
  dx = parts_.dropout.backward(dx, run);
  if (parts_.embedding_scale != 1) dx = scaled(std::move(dx), parts_.embedding_scale);
  parts_.tokens.backward(batch.ids, dx, gradients);
}

ModelParts RotaryDecoder::parts() const {
  return {.streams = {{.words = &parts_.tokens,
                       .word_scale = parts_.embedding_scale,
                       .branches = block_branches(parts_.blocks),
                       .last = parts_.norm.numbers()}},
          .words = parts_.head ? &*parts_.head : nullptr,
          .logit_cap = parts_.logit_cap};
}

std::vector<Parameter*> RotaryDecoder::parameters() {
  std::vector<Parameter*> all;
  parts_.tokens.collect(all);
  for (Block& block : parts_.blocks) {
    block.attention.collect(all);
    block.mlp.collect(all);
  }
  parts_.norm.collect(all);
  if (parts_.head && !parts_.tied) parts_.head->collect(all);
  return all;
}

namespace {

// 0 is the embedding's.
DropoutLayer dropout_of(const RotaryBlockShape& shape, int layer, int branch) {
  return {.rate = shape.dropout, .site = static_cast<std::uint32_t>(2 * layer + 1 + branch)};
}

}  // namespace

std::string rotary_block_name(int layer) { return fmt::format("model.layers.{}.", layer); }

AttentionParts rotary_attention(const RotaryBlockShape& shape, int layer,
                                std::shared_ptr<const Rotation> rotation) {
  const std::string name = rotary_block_name(layer) + "self_attn.";
  const std::int64_t all = shape.heads * shape.head_dim;
  const auto projection = [&](const char* part, std::int64_t heads) {
    return Linear(name + part,
                  {.in = shape.width, .out = heads * shape.head_dim, .bias = shape.qkv_bias});
  };
  return {.projections = separate_projections(projection("q_proj", shape.heads),
                                              projection("k_proj", shape.kv_heads),
                                              projection("v_proj", shape.kv_heads)),
          .out = Linear(name + "o_proj", {.in = all, .out = shape.width, .bias = shape.out_bias}),
          .rotation = std::move(rotation),
          .dropout = dropout_of(shape, layer, 0)};
}

GatedMlp rotary_mlp(const RotaryBlockShape& shape, int layer, Activation activation) {
  const std::string name = rotary_block_name(layer) + "mlp.";
  const auto linear = [&](const char* part, std::int64_t in, std::int64_t out) {
    return Linear(name + part, {.in = in, .out = out, .bias = shape.mlp_bias});
  };
  return {linear("gate_proj", shape.width, shape.inner),
          linear("up_proj", shape.width, shape.inner),
          activation,
          linear("down_proj", shape.inner, shape.width),
          {.layer = layer},
          dropout_of(shape, layer, 1)};
}

std::vector<RotaryDecoder::Block> rotary_blocks(std::int64_t layers, const RopeScaling& rope,
                                                const MakeRotaryBlock& make) {
  const auto rotation = std::make_shared<const Rotation>(rope);
  std::vector<RotaryDecoder::Block> blocks;
  for (int layer = 0; layer < layers; ++layer) blocks.push_back(make(layer, rotation));
  return blocks;
}

void require_rotary_decoder(const StoredWeights& stored, const ModelInfo& info,
                            std::int64_t inner) {
  const std::string last = rotary_block_name(static_cast<int>(info.layers) - 1);
  stored.require("model.embed_tokens.weight", {info.vocabulary, info.width});
  stored.require(last + "self_attn.q_proj.weight", {info.heads * info.head_dim, info.width});
  stored.require(last + "mlp.down_proj.weight", {info.width, inner});
}

}  // namespace heed
