#include "models/gemma2.h"

#include <cmath>
#include <utility>

#include "heed/masks/band.h"
#include "models/text_pass.h"
#include "nn/shown.h"
#include "ops/multiply.h"
#include "ops/softcap.h"

namespace heed {
namespace {

constexpr double kOffset = 1;  // files hold the norms' scales minus 1

}  // namespace

Gemma2::Block Gemma2::make_block(const Gemma2Config& config, int layer,
                                 const std::shared_ptr<const Rotation>& rotation) {
  const std::string name = "model.layers." + std::to_string(layer) + ".";
  const std::int64_t C = config.width;
  const std::int64_t F = config.inner;
  const std::int64_t all = config.heads * config.head_dim;
  const std::int64_t shared = config.kv_heads * config.head_dim;
  const auto linear = [&](const char* part, std::int64_t in, std::int64_t out, bool bias) {
    return Linear(name + part, {.in = in, .out = out, .bias = bias});
  };
  const auto norms = [&](const char* before, const char* inside) {
    return Norms<RmsNorm>{.before = RmsNorm(name + before, C, config.epsilon, kOffset),
                          .inside = RmsNorm(name + inside, C, config.epsilon, kOffset)};
  };
  const bool slides = config.slides[static_cast<std::size_t>(layer)];
  Attention attention(
      {.projections = separate_projections(linear("self_attn.q_proj", C, all, config.bias),
                                           linear("self_attn.k_proj", C, shared, config.bias),
                                           linear("self_attn.v_proj", C, shared, config.bias)),
       .out = linear("self_attn.o_proj", all, C, config.bias),
       .rotation = rotation},
      {.layer = layer,
       .heads = config.heads,
       .kv_heads = config.kv_heads,
       .head_dim = config.head_dim,
       .scale = config.query_scale,
       .softcap = config.score_cap,
       .mask = slides ? band({.left = config.window - 1, .right = 0}) : causal()});
  GatedMlp mlp(linear("mlp.gate_proj", C, F, false), linear("mlp.up_proj", C, F, false),
               Activation::kGeluTanh, linear("mlp.down_proj", F, C, false), {.layer = layer});
  return {{norms("input_layernorm", "post_attention_layernorm"), std::move(attention),
           attention_names(Stack::kSelf, layer)},
          {norms("pre_feedforward_layernorm", "post_feedforward_layernorm"), std::move(mlp),
           mlp_names(Stack::kSelf, layer)}};
}

Gemma2::Gemma2(const Gemma2Config& config)
    : config_(config),
      info_(config.info()),
      tokens_("model.embed_tokens", config.vocabulary, config.width),
      norm_("model.norm", config.width, config.epsilon, kOffset),
      head_(tokens_.table(), WeightLayout::kOutIn) {
  const auto rotation = std::make_shared<const Rotation>(config.rope);
  for (int layer = 0; layer < config.layers; ++layer)
    blocks_.push_back(make_block(config, layer, rotation));
}

Tensor Gemma2::forward(const Batch& batch, Run& run) const {
  check_pass(info_, batch, run);
  check_dropout(info_, "attention_dropout", config_.attention_dropout, run);
  const Shown show{run};
  const double scale = std::sqrt(static_cast<double>(config_.width));
  Tensor x = show(TapKind::kEmbedding, scaled(tokens_.forward(batch.ids), scale));  // [B, T, C]
  for (const Block& block : blocks_)
    x = block.mlp.forward(block.attention.forward(std::move(x), run), run);
  const Tensor last = show(TapKind::kFinal, norm_.forward(x, run));
  Tensor logits = logits_of(head_, last, run);  // [B, T or 1, V]
  if (config_.logit_cap > 0) {
    logits = softcapped(std::move(logits), config_.logit_cap);
    if (run.saved != nullptr) run.saved->put(logits.clone());  // a caller may overwrite its own
  }
  logits = show(TapKind::kLogits, std::move(logits));
  if (run.cache != nullptr) run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
  return logits;
}

void Gemma2::backward(const Tensor& dlogits, const Batch& batch, Run& run,
                      Gradients& gradients) const {
  check_saved(info_, run);
  Tensor duncapped = dlogits.share();
  if (config_.logit_cap > 0)
    duncapped = softcap_backward(run.saved->take(), config_.logit_cap, dlogits);
  Tensor dx = norm_.backward(head_.backward(duncapped, run, gradients), run, gradients);
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    dx = block->attention.backward(block->mlp.backward(dx, run, gradients), run, gradients);
  const double scale = std::sqrt(static_cast<double>(config_.width));
  tokens_.backward(batch.ids, scaled(std::move(dx), scale), gradients);
}

std::vector<Parameter*> Gemma2::parameters() {
  std::vector<Parameter*> all;
  tokens_.collect(all);
  for (Block& block : blocks_) {
    block.attention.collect(all);
    block.mlp.collect(all);
  }
  norm_.collect(all);
  return all;
}

}  // namespace heed
