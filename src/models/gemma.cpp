// Gemma (Gemma team 2024, 2025): a decoder with rotary positions, gated GELU and norms whose files
// hold the scale minus 1. Gemma 2 and 3 also have a norm of each branch's output, and windows in
// some layers; Gemma 2 caps scores and logits, Gemma 3 has norms of queries and keys.
#include <cmath>

#include "heed/error.h"
#include "models/decoder.h"
#include "models/training_config.h"

namespace heed {
namespace {

// A cap of null means no cap.
double cap_of(const Config& config, const char* key, double otherwise) {
  if (config.null(key) || (otherwise == 0 && !config.has(key))) return 0;
  return config.positive(key, otherwise);
}

bool sees_both_ways(const Config& config) {
  return config.flag("use_bidirectional_attention", false);
}

void refuse_both_ways(const Config& config) {
  if (sees_both_ways(config))
    config.refuse("use_bidirectional_attention", "true", "false", ErrorCode::kUnsupported);
}

// The settings common to all three.
void read_gemma(const Config& config, const UsualKeys& usual, DecoderShape& shape) {
  read_usual(config, usual, shape);
  shape.norm.offset = shape.head_norm.offset = 1;
  shape.head_norm.width = shape.head_dim;
  shape.embedding_scale = std::sqrt(static_cast<double>(shape.width));
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
}

constexpr DecoderNames kGemma2Parts = {.attention_inside = "post_attention_layernorm",
                                       .mlp_norm = "pre_feedforward_layernorm",
                                       .mlp_inside = "post_feedforward_layernorm"};

UsualKeys later_gemma_keys(std::int64_t vocabulary, std::int64_t positions) {
  return {.layers = 26,
          .heads = 8,
          .kv_heads = 4,
          .width = 2304,
          .head_dim = 256,
          .inner = 9216,
          .vocabulary = vocabulary,
          .positions = positions,
          .activation_key = "hidden_activation",
          .activation = "gelu_pytorch_tanh",
          .tied = true,
          .bos = 2,
          .eos = {1}};
}

// Reads the score scale and the windows of Gemma 2 and 3; returns the layers with a window.
std::vector<bool> read_later_gemma(const Config& config, DecoderShape& shape, std::int64_t every) {
  const double scale = 1 / std::sqrt(config.positive("query_pre_attn_scalar", 256));
  for (DecoderLayer& layer : shape.of_layers) layer.scale = scale;
  const std::vector<bool> sliding = sliding_layers(config, all_but_every(shape.layers, every));
  read_windows(config, 4096, sliding, shape);
  return sliding;
}

DecoderShape read_gemma1(const Config& config) {
  refuse_both_ways(config);
  DecoderShape shape{.family = "gemma", .title = "Gemma"};
  read_gemma(config,
             {.layers = 28,
              .heads = 16,
              .kv_heads = 16,
              .width = 3072,
              .head_dim = 256,
              .inner = 24576,
              .vocabulary = 256000,
              .positions = 8192,
              .activation = "gelu_pytorch_tanh",
              .tied = true,
              .bos = 2,
              .eos = {1}},
             shape);
  // Like transformers: the first files say "gelu" and mean the tanh version.
  if (config.text("hidden_act", "gelu") == "gelu") shape.activation = Activation::kGeluTanh;
  read_rotation(config, shape);
  return shape;
}

DecoderShape read_gemma2(const Config& config) {
  refuse_both_ways(config);
  DecoderShape shape{.family = "gemma2", .title = "Gemma 2", .names = kGemma2Parts};
  read_gemma(config, later_gemma_keys(256000, 8192), shape);
  shape.score_cap = cap_of(config, "attn_logit_softcapping", 50);
  shape.logit_cap = cap_of(config, "final_logit_softcapping", 30);
  read_rotation(config, shape);
  read_later_gemma(config, shape, 2);
  return shape;
}

// EmbeddingGemma: every token sees both ways. Half of the window lies on each side; like
// transformers, one key more if `is_causal` is false, too.
void see_both_ways(const Config& config, DecoderShape& shape) {
  for (DecoderLayer& layer : shape.of_layers) {
    if (layer.window == 1 && shape.causal)
      config.refuse("sliding_window", 1, "at least 2, half of them on each side",
                    ErrorCode::kUnsupported);
    if (layer.window != 0) layer.window = layer.window / 2 + (shape.causal ? 0 : 1);
  }
  shape.causal = false;
}

DecoderShape read_gemma3(const Config& config) {
  DecoderShape shape{.family = "gemma3", .title = "Gemma 3", .names = kGemma2Parts};
  shape.names.q_norm = "self_attn.q_norm";
  shape.names.k_norm = "self_attn.k_norm";
  read_gemma(config, later_gemma_keys(262208, 131072), shape);
  // transformers reads attn_logit_softcapping, but does not cap scores.
  shape.logit_cap = cap_of(config, "final_logit_softcapping", 0);
  const std::vector<bool> slides =
      read_later_gemma(config, shape, config.extent("sliding_window_pattern", 6));
  read_two_rotations(config, 1000000, config.positive("rope_local_base_freq", 10000), slides,
                     shape);
  if (sees_both_ways(config)) see_both_ways(config, shape);
  return shape;
}

DecoderShape read_gemma3_with_pictures(const Config& config) {
  return read_text_part(config,
                        {.model_type = "gemma3_text",
                         .architecture = "Gemma3ForCausalLM",
                         .unused = {"vision_tower.", "multi_modal_projector."}},
                        [](const Config& text) {
                          refuse_both_ways(text);
                          return read_gemma3(text);
                        });
}

void set_later_gemma(const TrainingShape& shape, Json& json) {
  set_head_dim(shape, json);
  json.set("query_pre_attn_scalar", shape.width / shape.heads);
  json.set("sliding_window", (shape.positions + 1) / 2);
}

}  // namespace

std::vector<Family> gemma_families() {
  return {decoder_family<read_gemma1>({"gemma"}, {.names_kv_heads = true, .more = set_head_dim}),
          decoder_family<read_gemma3>({"gemma3_text"},
                                      {.names_kv_heads = true, .more = set_later_gemma}),
          decoder_family<read_gemma3_with_pictures>({"gemma3"}, nullptr)};
}
Family gemma2_family() {
  return decoder_family<read_gemma2>({"gemma2"}, {.names_kv_heads = true, .more = set_later_gemma});
}

}  // namespace heed
