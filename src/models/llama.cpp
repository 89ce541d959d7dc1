#include "models/llama.h"

#include <cmath>
#include <optional>
#include <utility>

#include "models/rotary_decoder.h"
#include "models/text_pass.h"

namespace heed {
namespace {

RotaryBlockShape shape_of(const LlamaConfig& config) {
  return {.width = config.width,
          .heads = config.heads,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim,
          .inner = config.inner,
          .qkv_bias = config.qkv_bias,
          .out_bias = config.out_bias,
          .mlp_bias = config.mlp_bias,
          .dropout = config.dropout};
}

RotaryDecoder::Block make_block(const LlamaConfig& config, int layer,
                                const std::shared_ptr<const Rotation>& rotation) {
  const std::string name = rotary_block_name(layer);
  const auto norm = [&](const char* part, std::int64_t width) {
    return RmsNorm(name + part, width, config.epsilon);
  };
  AttentionParts parts = rotary_attention(shape_of(config), layer, rotation);
  if (config.head_norms) {
    parts.q_norm = norm("self_attn.q_norm", config.head_dim);
    parts.k_norm = norm("self_attn.k_norm", config.head_dim);
  }
  Attention attention(
      std::move(parts),
      {.layer = layer,
       .heads = config.heads,
       .kv_heads = config.kv_heads,
       .head_dim = config.head_dim,
       .scale = 1 / std::sqrt(static_cast<double>(config.head_dim)),
       .dropout = config.attention_dropout,
       .mask = text_mask(config.causal, config.windows[static_cast<std::size_t>(layer)])});
  return {{{.before = norm("input_layernorm", config.width)},
           std::move(attention),
           attention_names(Stack::kSelf, layer)},
          {{.before = norm("post_attention_layernorm", config.width)},
           rotary_mlp(shape_of(config), layer, config.activation),
           mlp_names(Stack::kSelf, layer)}};
}

}  // namespace

std::unique_ptr<Model> make_llama(const LlamaConfig& config) {
  Embedding tokens("model.embed_tokens", config.vocabulary, config.width);
  std::optional<Linear> head;
  if (config.tied)
    head.emplace(tokens.table(), WeightLayout::kOutIn);
  else if (config.has_words)
    head.emplace("lm_head",
                 LinearShape{.in = config.width, .out = config.vocabulary, .bias = false});
  auto blocks = rotary_blocks(config.layers, config.rope, [&](int layer, const auto& rotation) {
    return make_block(config, layer, rotation);
  });
  return std::make_unique<RotaryDecoder>(
      RotaryDecoder::Parts{.info = config.info(),
                           .config_json = config.json,
                           .tokens = std::move(tokens),
                           .dropout = {.rate = config.dropout, .site = 0},
                           .blocks = std::move(blocks),
                           .norm = RmsNorm("model.norm", config.width, config.epsilon),
                           .head = std::move(head),
                           .tied = config.tied});
}

}  // namespace heed
