#include "models/llama.h"

#include <cmath>
#include <utility>

#include "heed/masks/band.h"
#include "models/text_pass.h"
#include "nn/shown.h"

namespace heed {
namespace {

// A window of w keys is the query's own and the w - 1 before it.
Mask mask_of(std::int64_t window) {
  return window == 0 ? causal() : band({.left = window - 1, .right = 0});
}

}  // namespace

Llama::Block Llama::make_block(const LlamaConfig& config, int layer,
                               const std::shared_ptr<const Rotation>& rotation) {
  const std::string name = "model.layers." + std::to_string(layer) + ".";
  const auto linear = [&](const char* part, std::int64_t in, std::int64_t out, bool bias) {
    return Linear(name + part, {.in = in, .out = out, .bias = bias});
  };
  const auto head_norm = [&](const char* part) {
    return config.head_norms ? std::optional(RmsNorm(name + part, config.head_dim, config.epsilon))
                             : std::nullopt;
  };
  const std::int64_t C = config.width;
  const std::int64_t F = config.inner;
  const std::int64_t all = config.heads * config.head_dim;
  const std::int64_t shared = config.kv_heads * config.head_dim;
  const auto norm = [&](const char* part) {
    return Norms<RmsNorm>{.before = RmsNorm(name + part, C, config.epsilon)};
  };
  Attention attention(
      {.projections = separate_projections(linear("self_attn.q_proj", C, all, config.qkv_bias),
                                           linear("self_attn.k_proj", C, shared, config.qkv_bias),
                                           linear("self_attn.v_proj", C, shared, config.qkv_bias)),
       .out = linear("self_attn.o_proj", all, C, config.out_bias),
       .q_norm = head_norm("self_attn.q_norm"),
       .k_norm = head_norm("self_attn.k_norm"),
       .rotation = rotation},
      {.layer = layer,
       .heads = config.heads,
       .kv_heads = config.kv_heads,
       .head_dim = config.head_dim,
       .scale = 1 / std::sqrt(static_cast<double>(config.head_dim)),
       .mask = mask_of(config.windows[static_cast<std::size_t>(layer)])});
  GatedMlp mlp(linear("mlp.gate_proj", C, F, config.mlp_bias),
               linear("mlp.up_proj", C, F, config.mlp_bias), config.activation,
               linear("mlp.down_proj", F, C, config.mlp_bias), {.layer = layer});
  return {{norm("input_layernorm"), std::move(attention), attention_names(Stack::kSelf, layer)},
          {norm("post_attention_layernorm"), std::move(mlp), mlp_names(Stack::kSelf, layer)}};
}

Llama::Llama(const LlamaConfig& config)
    : config_(config),
      info_(config.info()),
      tokens_("model.embed_tokens", config.vocabulary, config.width),
      norm_("model.norm", config.width, config.epsilon),
      head_(config.tied ? Linear(tokens_.table(), WeightLayout::kOutIn)
                        : Linear("lm_head",
                                 {.in = config.width, .out = config.vocabulary, .bias = false})) {
  const auto rotation = std::make_shared<const Rotation>(config.rope);
  for (int layer = 0; layer < config.layers; ++layer)
    blocks_.push_back(make_block(config, layer, rotation));
}

Tensor Llama::forward(const Batch& batch, Run& run) const {
  check_pass(info_, batch, run);
  check_dropout(info_, "attention_dropout", config_.attention_dropout, run);
  const Shown show{run};
  Tensor x = show(TapKind::kEmbedding, tokens_.forward(batch.ids));  // [B, T, C]
  for (const Block& block : blocks_)
    x = block.mlp.forward(block.attention.forward(std::move(x), run), run);
  const Tensor last = show(TapKind::kFinal, norm_.forward(x, run));
  Tensor logits = show(TapKind::kLogits, logits_of(head_, last, run));  // [B, T or 1, V]
  if (run.cache != nullptr) run.cache->advance(run.row_lengths(batch.ids.dim(0), batch.ids.dim(1)));
  return logits;
}

void Llama::backward(const Tensor& dlogits, const Batch& batch, Run& run,
                     Gradients& gradients) const {
  check_saved(info_, run);
  Tensor dx = norm_.backward(head_.backward(dlogits, run, gradients), run, gradients);
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    dx = block->attention.backward(block->mlp.backward(dx, run, gradients), run, gradients);
  tokens_.backward(batch.ids, dx, gradients);
}

std::vector<Parameter*> Llama::parameters() {
  std::vector<Parameter*> all;
  tokens_.collect(all);
  for (Block& block : blocks_) {
    block.attention.collect(all);
    block.mlp.collect(all);
  }
  norm_.collect(all);
  if (!config_.tied) head_.collect(all);
  return all;
}

}  // namespace heed
