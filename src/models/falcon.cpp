// BLOOM (BigScience 2022) and Falcon (Almazrouei et al. 2023). A fused projection has the queries
// that share a key, then that key and its value. BLOOM's scores decrease with distance (ALiBi);
// Falcon rotates queries and keys.
#include <fmt/format.h>

#include "models/decoder.h"
#include "models/training_config.h"

namespace heed {
namespace {

constexpr DecoderNames kFalconParts = {.prefix = "transformer.",
                                       .tokens = "transformer.word_embeddings",
                                       .block = "transformer.h.",
                                       .qkv = "self_attention.query_key_value",
                                       .out = "self_attention.dense",
                                       .gate = "",
                                       .up = "mlp.dense_h_to_4h",
                                       .down = "mlp.dense_4h_to_h",
                                       .last_norm = "transformer.ln_f"};

// Older configurations use other names for some sizes.
const char* key_of(const Config& config, const char* key, const char* other) {
  return config.has(key) ? key : other;
}

// Without a causal mask, transformers adds more to the scores of later tokens, not less.
void require_causal_alibi(const Config& config, const DecoderShape& shape) {
  if (shape.alibi && !shape.causal)
    config.refuse("is_causal", "false", "true: ALiBi is for earlier tokens",
                  ErrorCode::kUnsupported);
}

DecoderShape read_bloom(const Config& config) {
  DecoderShape shape{.family = "bloom", .title = "BLOOM", .names = kFalconParts};
  shape.names.embedding_norm = "transformer.word_embeddings_layernorm";
  read_usual(config,
             {.layers = 2,
              .heads = 8,
              .width = 64,
              .vocabulary = 250880,
              .positions = kAnyLength,
              .layers_key = key_of(config, "n_layer", "num_hidden_layers"),
              .heads_key = key_of(config, "n_head", "num_attention_heads"),
              .width_key = key_of(config, "n_embed", "hidden_size"),
              .inner_key = nullptr,
              .activation_key = nullptr,
              .activation = "gelu_new",
              .epsilon_key = "layer_norm_epsilon",
              .epsilon = 1e-5,
              .heads_alike = true,
              .tied = true,
              .bos = 1,
              .eos = {2}},
             shape);
  if (config.flag("apply_residual_connection_post_layernorm", false))
    config.refuse("apply_residual_connection_post_layernorm", "true",
                  "false: branches add to the stream, not to its norm", ErrorCode::kUnsupported);
  shape.positions = kAnyLength;
  shape.alibi = shape.by_head = true;
  require_causal_alibi(config, shape);
  for (DecoderLayer& layer : shape.of_layers) layer.rotation = {};
  shape.qkv_bias = shape.out_bias = shape.mlp_bias = true;
  shape.dropout = config.rate("hidden_dropout", 0);
  return shape;
}

// Reads the number of keys. With one key for all queries, the projection has all queries, then the
// key, then the value, as in other families.
void read_falcon_keys(const Config& config, bool is_new, DecoderShape& shape) {
  shape.by_head = is_new || config.null("multi_query") || !config.flag("multi_query", true);
  shape.kv_heads = shape.by_head ? config.extent("num_kv_heads", shape.heads) : 1;
  if (shape.heads % shape.kv_heads != 0)
    config.refuse("num_kv_heads", shape.kv_heads,
                  fmt::format("a divisor of num_attention_heads ({})", shape.heads));
  if (!is_new && shape.by_head && shape.kv_heads != shape.heads)
    config.refuse(
        "num_kv_heads", shape.kv_heads,
        fmt::format("num_attention_heads ({}): without new_decoder_architecture each head "
                    "has a key of its own",
                    shape.heads));
}

// Reads the norms before attention and MLP, and whether both read the same input.
void read_falcon_norms(const Config& config, bool is_new, DecoderShape& shape) {
  shape.parallel = is_new || (!config.null("parallel_attn") && config.flag("parallel_attn", true));
  const std::int64_t norms = config.extent("num_ln_in_parallel_attn", is_new ? 2 : 1);
  if (norms > 2 || (norms == 2 && shape.parallel && !is_new))
    config.refuse("num_ln_in_parallel_attn", norms,
                  is_new ? "1 or 2" : "1: 2 belong to new_decoder_architecture");
  if (shape.parallel && norms == 2) {
    shape.names.attention_norm = "ln_attn";
    shape.names.mlp_norm = "ln_mlp";
  } else if (shape.parallel) {
    shape.names.mlp_norm = "";
  }
}

DecoderShape read_falcon(const Config& config) {
  DecoderShape shape{.family = "falcon", .title = "Falcon", .names = kFalconParts};
  read_usual(config,
             {.layers = 32,
              .heads = 71,
              .width = 4544,
              .vocabulary = 65024,
              .positions = 2048,
              .width_key = key_of(config, "n_embed", "hidden_size"),
              .inner_key = "ffn_hidden_size",
              .activation_key = "activation",
              .activation = "gelu",
              .epsilon_key = "layer_norm_epsilon",
              .epsilon = 1e-5,
              .heads_alike = true,
              .tied = true,
              .bos = 11,
              .eos = {11}},
             shape);
  const bool is_new = config.flag("new_decoder_architecture", false);
  read_falcon_keys(config, is_new, shape);
  read_falcon_norms(config, is_new, shape);
  shape.qkv_bias = shape.out_bias = shape.mlp_bias = config.flag("bias", false);
  // Applies to the sum of both branches.
  shape.unserved = {{"hidden_dropout", config.rate("hidden_dropout", 0)}};
  shape.alibi = shape.rounds_alibi = config.flag("alibi", false);
  require_causal_alibi(config, shape);
  if (shape.alibi)
    for (DecoderLayer& layer : shape.of_layers) layer.rotation = {};
  else
    read_rotation(config, shape);
  return shape;
}

void set_keys_of_falcon(const TrainingShape& /*shape*/, Json& json) {
  json.set("multi_query", false);
}

}  // namespace

std::vector<Family> falcon_families() {
  return {
      decoder_family<read_bloom>(
          {"bloom"},
          {.gated = false, .layers = "n_layer", .heads = "n_head", .dropouts = {"hidden_dropout"}}),
      decoder_family<read_falcon>(
          {"falcon"}, {.gated = false, .inner = "ffn_hidden_size", .more = set_keys_of_falcon})};
}

}  // namespace heed
