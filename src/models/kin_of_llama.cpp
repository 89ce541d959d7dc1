// Decoders that differ from Llama in a norm, a bias, a factor or a fused part: StableLM, StarCoder2
// (Lozhkov et al. 2024), SmolLM3, GLM-4, Granite, Nemotron (Parmar et al. 2024), Helium.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/decoder.h"

namespace heed {
namespace {

DecoderShape read_stablelm(const Config& config) {
  DecoderShape shape{.family = "stablelm", .title = "StableLM"};
  read_usual(config,
             {.layers = 32,
              .heads = 32,
              .kv_heads = 32,
              .width = 2560,
              .inner = 6912,
              .vocabulary = 50304,
              .positions = 4096,
              .epsilon_key = "layer_norm_eps",
              .epsilon = 1e-5,
              .bos = 0,
              .eos = {0}},
             shape);
  if (config.flag("qk_layernorm", false)) {
    shape.names.q_norm = "self_attn.q_layernorm";
    shape.names.k_norm = "self_attn.k_layernorm";
    shape.head_norm = {.width = shape.head_dim, .epsilon = shape.norm.epsilon, .bias = false};
    shape.head_norms = HeadNorms::kOwn;
  }
  shape.qkv_bias = config.flag("use_qkv_bias", false);
  shape.parallel = config.flag("use_parallel_residual", false);
  if (shape.parallel) shape.names.mlp_norm = "";
  read_rotation(config, shape, {.share = 0.25});
  return shape;
}

DecoderShape read_starcoder2(const Config& config) {
  DecoderShape shape{.family = "starcoder2",
                     .title = "StarCoder2",
                     .names = {.gate = "", .up = "mlp.c_fc", .down = "mlp.c_proj"}};
  read_usual(config,
             {.layers = 30,
              .heads = 24,
              .kv_heads = 2,
              .width = 3072,
              .inner = 12288,
              .vocabulary = 49152,
              .positions = 4096,
              .activation = "gelu_pytorch_tanh",
              .epsilon_key = "norm_epsilon",
              .epsilon = 1e-5,
              .tied = true,
              .bos = 50256,
              .eos = {50256}},
             shape);
  shape.qkv_bias = shape.out_bias = shape.mlp_bias = config.flag("use_bias", true);
  shape.embedding_dropout = config.rate("embedding_dropout", 0);
  shape.dropout = config.rate("residual_dropout", 0);
  read_rotation(config, shape);
  read_window_of_all(config, shape);
  return shape;
}

// Layers without positions: those with a 0 in `no_rope_layers`, else every fourth.
void read_layers_without_positions(const Config& config, DecoderShape& shape) {
  const std::vector<std::int64_t> turns =
      config.has("no_rope_layers") ? config.ids("no_rope_layers", {}) : std::vector<std::int64_t>();
  require_one_per_layer(config, "no_rope_layers", std::ssize(turns), shape.layers);
  const std::int64_t every = config.extent("no_rope_layer_interval", 4);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    if (turns.empty() ? (layer + 1) % every == 0 : turns[at] == 0)
      shape.of_layers[at].rotation = {};
  }
}

// By `layer_types`; without the list, layers without positions have a window if the flag is set.
void read_smollm3_windows(const Config& config, DecoderShape& shape) {
  const bool is_on = config.has("sliding_window") && config.flag("use_sliding_window", false);
  std::vector<bool> slides;
  for (const DecoderLayer& layer : shape.of_layers) slides.push_back(is_on && !layer.rotation);
  slides = sliding_layers(config, std::move(slides));
  if (std::ranges::find(slides, true) == slides.end()) return;
  if (!config.has("sliding_window"))
    config.refuse("sliding_window", "missing", "a number, as a layer has a window");
  read_windows(config, 1, slides, shape);
}

DecoderShape read_smollm3(const Config& config) {
  DecoderShape shape{.family = "smollm3", .title = "SmolLM3"};
  read_usual(config,
             {.layers = 36,
              .heads = 16,
              .kv_heads = 4,
              .width = 2048,
              .inner = 11008,
              .vocabulary = 128256,
              .positions = 32768,
              .tied = true,
              .bos = 128000,
              .eos = {128001}},
             shape);
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  shape.mlp_bias = config.flag("mlp_bias", false);
  read_rotation(config, shape, {.base = 2000000});
  read_layers_without_positions(config, shape);
  read_smollm3_windows(config, shape);
  return shape;
}

DecoderShape read_glm(const Config& config) {
  const bool is_fourth = config.text("model_type", "") == "glm4";
  DecoderShape shape{.family = is_fourth ? "glm4" : "glm",
                     .title = "GLM-4",
                     .names = {.gate = "", .up = "mlp.gate_up_proj"}};
  if (is_fourth) {
    shape.names.attention_inside = "post_self_attn_layernorm";
    shape.names.mlp_inside = "post_mlp_layernorm";
  }
  read_usual(config,
             {.layers = 40,
              .heads = 32,
              .kv_heads = 2,
              .width = 4096,
              .head_dim = 128,
              .inner = 13696,
              .vocabulary = 151552,
              .positions = 131072,
              .epsilon = 1.5625e-7,
              .eos = {151329, 151336, 151338}},
             shape);
  shape.qkv_bias = config.flag("attention_bias", true);
  shape.up_holds_gate = true;
  read_rotation(config, shape, {.pairs = RopePairs::kNeighbours, .share = 0.5});
  return shape;
}

DecoderShape read_granite(const Config& config) {
  DecoderShape shape{.family = "granite", .title = "Granite"};
  read_usual(config,
             {.layers = 32,
              .heads = 32,
              .width = 4096,
              .inner = 11008,
              .vocabulary = 32000,
              .positions = 2048,
              .bos = 1,
              .eos = {2}},
             shape);
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  shape.mlp_bias = config.flag("mlp_bias", false);
  shape.embedding_scale = config.positive("embedding_multiplier", 1);
  shape.branch_scale = config.positive("residual_multiplier", 1);
  shape.logit_scale = 1 / config.positive("logits_scaling", 1);
  for (DecoderLayer& layer : shape.of_layers)
    layer.scale = config.positive("attention_multiplier", 1);
  read_rotation(config, shape);
  return shape;
}

DecoderShape read_nemotron(const Config& config) {
  DecoderShape shape{.family = "nemotron", .title = "Nemotron", .names = {.gate = ""}};
  read_usual(config,
             {.layers = 32,
              .heads = 48,
              .width = 6144,
              .inner = 24576,
              .vocabulary = 256000,
              .positions = 4096,
              .activation = "relu2",
              .epsilon_key = "norm_eps",
              .epsilon = 1e-5,
              .bos = 2,
              .eos = {3}},
             shape);
  shape.norm.offset = 1;
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  shape.mlp_bias = config.flag("mlp_bias", false);
  read_rotation(config, shape, {.share = 0.5});
  return shape;
}

DecoderShape read_helium(const Config& config) {
  DecoderShape shape{.family = "helium", .title = "Helium"};
  read_usual(config,
             {.layers = 24,
              .heads = 20,
              .kv_heads = 20,
              .width = 2560,
              .head_dim = 128,
              .inner = 7040,
              .vocabulary = 48000,
              .positions = 4096,
              .epsilon = 1e-8,
              .bos = 1,
              .eos = {2}},
             shape);
  if (shape.heads * shape.head_dim != shape.width)
    config.refuse(
        "head_dim", shape.head_dim,
        fmt::format("hidden_size / num_attention_heads ({} / {})", shape.width, shape.heads));
  shape.qkv_bias = config.flag("attention_bias", false);
  shape.mlp_bias = config.flag("mlp_bias", false);
  read_rotation(config, shape, {.pairs = RopePairs::kNeighbours, .base = 100000});
  return shape;
}

}  // namespace

std::vector<Family> kin_of_llama_families() {
  return {decoder_family<read_stablelm>({"stablelm"}, {.names_kv_heads = true}),
          decoder_family<read_starcoder2>({"starcoder2"},
                                          {.gated = false,
                                           .names_kv_heads = true,
                                           .dropouts = {"embedding_dropout", "residual_dropout"}}),
          decoder_family<read_smollm3>({"smollm3"}, {.names_kv_heads = true}),
          decoder_family<read_glm>({"glm", "glm4"}, {.names_kv_heads = true, .more = set_head_dim}),
          decoder_family<read_granite>({"granite"}),
          decoder_family<read_nemotron>({"nemotron"}, {.gated = false, .names_kv_heads = true}),
          decoder_family<read_helium>({"helium"}, {.names_kv_heads = true, .more = set_head_dim})};
}

}  // namespace heed
