#include "models/gemma2.h"

#include <cmath>
#include <utility>

#include "models/rotary_decoder.h"
#include "models/text_pass.h"

namespace heed {
namespace {

constexpr double kOffset = 1;  // files hold the norms' scales minus 1

RotaryDecoder::Block make_block(const Gemma2Config& config, int layer,
                                const std::shared_ptr<const Rotation>& rotation) {
  const std::string name = rotary_block_name(layer);
  const RotaryBlockShape shape = {.width = config.width,
                                  .heads = config.heads,
                                  .kv_heads = config.kv_heads,
                                  .head_dim = config.head_dim,
                                  .inner = config.inner,
                                  .qkv_bias = config.bias,
                                  .out_bias = config.bias,
                                  .mlp_bias = false};
  const auto norms = [&](const char* before, const char* inside) {
    return Norms<RmsNorm>{.before = RmsNorm(name + before, config.width, config.epsilon, kOffset),
                          .inside = RmsNorm(name + inside, config.width, config.epsilon, kOffset)};
  };
  const bool slides = config.slides[static_cast<std::size_t>(layer)];
  Attention attention(rotary_attention(shape, layer, rotation),
                      {.layer = layer,
                       .heads = config.heads,
                       .kv_heads = config.kv_heads,
                       .head_dim = config.head_dim,
                       .scale = config.query_scale,
                       .softcap = config.score_cap,
                       .dropout = config.attention_dropout,
                       .mask = text_mask(config.causal, slides ? config.window : 0)});
  return {{norms("input_layernorm", "post_attention_layernorm"), std::move(attention),
           attention_names(Stack::kSelf, layer)},
          {norms("pre_feedforward_layernorm", "post_feedforward_layernorm"),
           rotary_mlp(shape, layer, config.activation), mlp_names(Stack::kSelf, layer)}};
}

}  // namespace

std::unique_ptr<Model> make_gemma2(const Gemma2Config& config) {
  Embedding tokens("model.embed_tokens", config.vocabulary, config.width);
  Linear head = config.tied ? Linear(tokens.table(), WeightLayout::kOutIn)
                            : Linear("lm_head",
                                     {.in = config.width, .out = config.vocabulary, .bias = false});
  auto blocks = rotary_blocks(config.layers, config.rope, [&](int layer, const auto& rotation) {
    return make_block(config, layer, rotation);
  });
  return std::make_unique<RotaryDecoder>(
      RotaryDecoder::Parts{.info = config.info(),
                           .config_json = config.json,
                           .tokens = std::move(tokens),
                           .embedding_scale = std::sqrt(static_cast<double>(config.width)),
                           .blocks = std::move(blocks),
                           .norm = RmsNorm("model.norm", config.width, config.epsilon, kOffset),
                           .head = std::move(head),
                           .tied = config.tied,
                           .logit_cap = config.logit_cap});
}

}  // namespace heed
