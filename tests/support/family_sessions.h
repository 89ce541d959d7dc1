// Small random models of every family, and sessions of them.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "heed/inspect/session.h"
#include "support/tiny_configs.h"

namespace heed::test {

/// For work that may be cancelled: it never is.
inline const std::function<void()> kNever = [] {};

struct FamilyVariant {
  const char* name;
  const char* config;
};

/// What differs between attentions: norms before, inside and after, shared keys, windows, soft
/// caps, norms of q and k (of each head or of all), biases by distance, learned and rotary
/// positions (halves or neighbours, a part of a head, no layer or some), fused projections,
/// branches beside each other, factors of what branches add, slopes by distance, sinks, experts,
/// cross-attention.
inline constexpr FamilyVariant kFamilyVariants[] = {
    {"gpt2", R"({"model_type": "gpt2", "n_layer": 3, "n_head": 2, "n_embd": 8, "n_positions": 16,
      "vocab_size": 11})"},
    {"llama", R"({"model_type": "llama", "num_hidden_layers": 3, "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 8, "head_dim": 4, "intermediate_size": 12,
      "max_position_embeddings": 16, "vocab_size": 11, "attention_bias": true})"},
    {"mistral", R"({"model_type": "mistral", "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 8, "intermediate_size": 12, "sliding_window": 3,
      "max_position_embeddings": 16, "vocab_size": 11})"},
    {"qwen3", R"({"model_type": "qwen3", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 6, "intermediate_size": 12,
      "max_position_embeddings": 16, "vocab_size": 11})"},
    {"yarn", R"({"model_type": "qwen2", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 2, "hidden_size": 16, "intermediate_size": 12,
      "max_position_embeddings": 32, "vocab_size": 11, "rope_parameters": {"rope_type": "yarn",
      "factor": 4.0, "original_max_position_embeddings": 8, "rope_theta": 50.0}})"},
    {"gemma2", R"({"model_type": "gemma2", "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 8, "head_dim": 4, "intermediate_size": 12,
      "max_position_embeddings": 16, "vocab_size": 11, "sliding_window": 4,
      "query_pre_attn_scalar": 4, "attn_logit_softcapping": 2.0,
      "final_logit_softcapping": 5.0})"},
    {"bert", R"({"model_type": "bert", "num_hidden_layers": 3, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 16,
      "vocab_size": 11})"},
    {"roberta", R"({"model_type": "roberta", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 18, "vocab_size": 11,
      "type_vocab_size": 1, "pad_token_id": 1})"},
    {"marian", R"({"model_type": "marian", "encoder_layers": 2, "decoder_layers": 2,
      "encoder_attention_heads": 4, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
      "decoder_ffn_dim": 10, "d_model": 8, "max_position_embeddings": 16, "vocab_size": 11,
      "scale_embedding": true, "decoder_start_token_id": 10})"},
    {"t5", R"({"model_type": "t5", "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2,
      "d_model": 8, "d_kv": 4, "d_ff": 12, "vocab_size": 11, "n_positions": 16,
      "relative_attention_num_buckets": 8, "decoder_start_token_id": 0})"},
    {"gpt_neox", R"({"model_type": "gpt_neox", "num_hidden_layers": 3, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 16, "vocab_size": 11,
      "rotary_pct": 0.5})"},
    {"gptj", R"({"model_type": "gptj", "n_layer": 3, "n_head": 2, "n_embd": 12, "n_inner": 12,
      "n_positions": 16, "vocab_size": 11, "rotary_dim": 4})"},
    {"opt", R"({"model_type": "opt", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "ffn_dim": 12, "max_position_embeddings": 16, "vocab_size": 11})"},
    {"phi", R"({"model_type": "phi", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "intermediate_size": 12, "qk_layernorm": true,
      "max_position_embeddings": 16, "vocab_size": 11})"},
    {"gemma3", R"({"model_type": "gemma3_text", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 6, "intermediate_size": 12,
      "max_position_embeddings": 16, "vocab_size": 11, "sliding_window": 3,
      "layer_types": ["full_attention", "sliding_attention"], "query_pre_attn_scalar": 4})"},
    {"olmo", R"({"model_type": "olmo", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 16,
      "vocab_size": 11})"},
    {"olmo2", R"({"model_type": "olmo2", "num_hidden_layers": 3, "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 16, "intermediate_size": 12,
      "max_position_embeddings": 16, "vocab_size": 11})"},
    {"cohere2", R"({"model_type": "cohere2", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 16, "vocab_size": 11,
      "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 3})"},
    {"granite", R"({"model_type": "granite", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 16, "vocab_size": 11,
      "embedding_multiplier": 2.0, "residual_multiplier": 0.4, "attention_multiplier": 0.3,
      "logits_scaling": 2.5, "attention_bias": true})"},
    {"bloom", R"({"model_type": "bloom", "n_layer": 3, "n_head": 3, "hidden_size": 12,
      "vocab_size": 11})"},
    {"falcon", R"({"model_type": "falcon", "num_hidden_layers": 2, "num_attention_heads": 4,
      "hidden_size": 16, "vocab_size": 11, "max_position_embeddings": 16, "num_kv_heads": 2,
      "new_decoder_architecture": true, "bias": true})"},
    {"qwen2_moe", R"({"model_type": "qwen2_moe", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "intermediate_size": 12, "num_experts": 3,
      "num_experts_per_tok": 2, "moe_intermediate_size": 5, "shared_expert_intermediate_size": 6,
      "mlp_only_layers": [0], "max_position_embeddings": 16, "vocab_size": 11})"},
    {"gpt_oss", R"({"model_type": "gpt_oss", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 4, "intermediate_size": 6,
      "num_local_experts": 3, "num_experts_per_tok": 2, "max_position_embeddings": 16,
      "vocab_size": 11, "sliding_window": 3})"},
};

inline LoadedModel family_model(const FamilyVariant& variant) {
  LoadedModel model{.name = variant.name,
                    .folder = {},
                    .model = make_model(variant.config, 3),
                    .tokenizer = nullptr};
  sharpen(*model.model);
  return model;
}

/// Seven tokens, or seven of a source and four written.
inline Session family_session(const LoadedModel& model,
                              const SessionOptions& options = {.all_logits = true}) {
  const std::vector<TokenId> ids = {3, 4, 5, 4, 7, 2, 3};
  const std::vector<TokenId> target = {6, 4, 5};
  Session session = model.model->info().reads_source()
                        ? tokenize_session(model, ids, std::span<const TokenId>(target))
                        : tokenize_session(model, ids);
  run_session(session, model, options);
  return session;
}

/// The sum of a row's weights, which excludes the sink's.
inline double share_of_tokens(const LayerAttention& layer, std::int64_t head, std::int64_t query) {
  const Scores& scores = layer.scores;
  if (!scores.sink.given()) return 1;
  const double lse = layer.lse.data<float>()[head * layer.queries() + query];
  return 1 - std::exp(scores.sink.data<float>()[head] - lse);
}

}  // namespace heed::test
