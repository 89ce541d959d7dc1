// OLMo (Groeneveld et al. 2024): norms without parameters. OLMo 2 and 3 (Team OLMo 2024, 2025):
// norms of branch outputs, and of queries and keys over all heads.
#include "models/decoder.h"

namespace heed {
namespace {

UsualKeys olmo_keys() {
  return {.layers = 32,
          .heads = 32,
          .width = 4096,
          .inner = 11008,
          .vocabulary = 50304,
          .positions = 2048,
          .epsilon = 1e-5,
          .eos = {50279}};
}

DecoderShape read_olmo(const Config& config) {
  DecoderShape shape{.family = "olmo", .title = "OLMo"};
  UsualKeys usual = olmo_keys();
  usual.epsilon_key = nullptr;
  read_usual(config, usual, shape);
  if (config.has("clip_qkv")) shape.clip = config.positive("clip_qkv", 1);
  shape.norm.weight = shape.norm.bias = false;
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  read_rotation(config, shape);
  return shape;
}

DecoderShape read_olmo2(const Config& config) {
  const bool is_third = config.text("model_type", "") == "olmo3";
  DecoderShape shape{.family = is_third ? "olmo3" : "olmo2",
                     .title = is_third ? "OLMo 3" : "OLMo 2",
                     .names = {.attention_norm = "",
                               .attention_inside = "post_attention_layernorm",
                               .q_norm = "self_attn.q_norm",
                               .k_norm = "self_attn.k_norm",
                               .mlp_norm = "",
                               .mlp_inside = "post_feedforward_layernorm"}};
  read_usual(config, olmo_keys(), shape);
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  if (!is_third) {
    read_rotation(config, shape);
    return shape;
  }
  const std::vector<bool> slides = sliding_layers(config, all_but_every(shape.layers, 4));
  read_windows(config, 4096, slides, shape);
  read_two_rotations(config, 500000, 500000, slides, shape);
  return shape;
}

}  // namespace

std::vector<Family> olmo_families() {
  return {decoder_family<read_olmo>({"olmo"}), decoder_family<read_olmo2>({"olmo2", "olmo3"})};
}

}  // namespace heed
