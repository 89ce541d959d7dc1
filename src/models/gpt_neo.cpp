// Decoders with learned positions and separate projections: GPT-Neo (Black et al. 2021), whose
// scores are not scaled and whose every other layer has a window, and OPT (Zhang et al. 2022).
#include <fmt/format.h>

#include "models/decoder.h"
#include "models/training_config.h"

namespace heed {
namespace {

constexpr DecoderNames kNeoParts = {.prefix = "transformer.",
                                    .tokens = "transformer.wte",
                                    .positions = "transformer.wpe",
                                    .block = "transformer.h.",
                                    .attention_norm = "ln_1",
                                    .q = "attn.attention.q_proj",
                                    .k = "attn.attention.k_proj",
                                    .v = "attn.attention.v_proj",
                                    .out = "attn.attention.out_proj",
                                    .mlp_norm = "ln_2",
                                    .gate = "",
                                    .up = "mlp.c_fc",
                                    .down = "mlp.c_proj",
                                    .last_norm = "transformer.ln_f"};

// `attention_layers` has an entry per layer. Without it `attention_types` counts, whose entries are
// lists of kinds and how often each list repeats.
void read_local_layers(const Config& config, DecoderShape& shape) {
  std::vector<std::string> types = config.texts("attention_layers");
  const char* key = types.empty() ? "attention_types" : "attention_layers";
  if (types.empty()) types = config.repeated_texts(key, shape.layers);
  require_one_per_layer(config, key, std::ssize(types), shape.layers);
  const std::int64_t window = config.extent("window_size", 256);
  for (std::size_t layer = 0; layer < shape.of_layers.size(); ++layer) {
    const std::string type = types.empty() ? (layer % 2 == 0 ? "global" : "local") : types[layer];
    if (type != "global" && type != "local")
      config.refuse(key, fmt::format("'{}' in layer {}", type, layer), "global or local",
                    ErrorCode::kUnsupported);
    shape.of_layers[layer] = {.window = type == "local" ? window : 0, .rotation = {}, .scale = 1};
  }
}

DecoderShape read_gpt_neo(const Config& config) {
  DecoderShape shape{.family = "gpt_neo", .title = "GPT-Neo", .names = kNeoParts};
  read_usual(config,
             {.layers = 24,
              .heads = 16,
              .width = 2048,
              .vocabulary = 50257,
              .positions = 2048,
              .layers_key = "num_layers",
              .heads_key = "num_heads",
              .activation_key = "activation_function",
              .activation = "gelu_new",
              .epsilon_key = "layer_norm_epsilon",
              .epsilon = 1e-5,
              .heads_alike = true,
              .tied = true,
              .bos = 50256,
              .eos = {50256}},
             shape);
  shape.causal = true;  // whatever `is_causal` says, like in transformers, whose layers have masks
  shape.out_bias = shape.mlp_bias = true;
  shape.embedding_dropout = config.rate("embed_dropout", 0);
  shape.dropout = config.rate("resid_dropout", 0);
  shape.unused = {".attn.attention.bias"};
  read_local_layers(config, shape);
  return shape;
}

constexpr DecoderNames kOptParts = {.tokens = "model.decoder.embed_tokens",
                                    .positions = "model.decoder.embed_positions",
                                    .block = "model.decoder.layers.",
                                    .attention_norm = "self_attn_layer_norm",
                                    .out = "self_attn.out_proj",
                                    .mlp_norm = "final_layer_norm",
                                    .gate = "",
                                    .up = "fc1",
                                    .down = "fc2",
                                    .last_norm = "model.decoder.final_layer_norm"};

DecoderShape read_opt(const Config& config) {
  DecoderShape shape{.family = "opt", .title = "OPT", .names = kOptParts};
  read_usual(config,
             {.layers = 12,
              .heads = 12,
              .width = 768,
              .inner = 3072,
              .vocabulary = 50272,
              .positions = 2048,
              .inner_key = "ffn_dim",
              .activation_key = "activation_function",
              .activation = "relu",
              .epsilon_key = nullptr,
              .epsilon = 1e-5,
              .heads_alike = true,
              .tied = true,
              .bos = 2,
              .eos = {2}},
             shape);
  shape.norms_behind = !config.flag("do_layer_norm_before", true);
  if (const std::int64_t words = config.extent("word_embed_proj_dim", shape.width);
      words != shape.width) {
    shape.word_width = words;
    shape.names.project_in = "model.decoder.project_in";
    shape.names.project_out = "model.decoder.project_out";
  }
  shape.first_position = 2;
  shape.norm.weight = shape.norm.bias = config.flag("layer_norm_elementwise_affine", true);
  if (shape.norms_behind || config.flag("_remove_final_layer_norm", false))
    shape.names.last_norm = "";
  shape.qkv_bias = shape.out_bias = shape.mlp_bias = config.flag("enable_bias", true);
  shape.dropout = config.rate("dropout", 0.1);
  shape.deviation = config.number("init_std", 0.02);
  for (DecoderLayer& layer : shape.of_layers) layer.rotation = {};
  return shape;
}

// Alternates global and local, in the two forms that transformers requires.
void set_local_layers(const TrainingShape& shape, Json& json) {
  Json layers = Json::array(), types = Json::array();
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const char* kind = layer % 2 == 0 ? "global" : "local";
    layers.push(kind);
    types.push(Json::array({Json::array({kind}), 1}));
  }
  json.set("attention_layers", layers);
  json.set("attention_types", types);
}

}  // namespace

std::vector<Family> gpt_neo_families() {
  return {decoder_family<read_gpt_neo>({"gpt_neo"}, {.gated = false,
                                                     .layers = "num_layers",
                                                     .heads = "num_heads",
                                                     .dropouts = {"embed_dropout", "resid_dropout"},
                                                     .more = set_local_layers}),
          decoder_family<read_opt>({"opt"},
                                   {.gated = false, .inner = "ffn_dim", .dropouts = {"dropout"}})};
}

}  // namespace heed
