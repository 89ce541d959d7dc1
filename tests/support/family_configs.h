// Tiny configurations of every family.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace heed::test {

/// `own` is what differs from kSizes, or from kPairSizes where it has `encoder_layers`. One with a
/// `vocab_size` is complete.
struct FamilyConfig {
  const char* name;
  const char* own;
  bool has_f64 = true;  // false: a layer computes in f32 alone
};

inline constexpr const char* kSizes =
    R"({"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8,
        "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11})";
inline constexpr const char* kPairSizes =
    R"({"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 12, "decoder_ffn_dim": 12, "d_model": 8,
        "max_position_embeddings": 8, "vocab_size": 11})";

inline constexpr FamilyConfig kFamilyConfigs[] = {
    {"gpt2", R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 8,
      "vocab_size": 11, "attn_pdrop": 0.2, "resid_pdrop": 0.1, "embd_pdrop": 0.1})"},
    {"llama", R"({"model_type": "llama", "num_attention_heads": 4, "num_key_value_heads": 2,
      "head_dim": 4, "attention_bias": true, "mlp_bias": true, "attention_dropout": 0.2,
      "dropout": 0.1})"},
    {"mistral", R"({"model_type": "mistral", "num_attention_heads": 4, "num_key_value_heads": 2,
      "sliding_window": 3, "tie_word_embeddings": true})"},
    {"qwen3", R"({"model_type": "qwen3", "num_key_value_heads": 1, "head_dim": 6,
      "layer_types": ["full_attention", "sliding_attention"], "use_sliding_window": true,
      "sliding_window": 2, "rope_theta": 100.0})"},
    {"dynamic", R"({"model_type": "llama", "hidden_size": 12, "max_position_embeddings": 3,
      "rope_scaling": {"type": "dynamic", "factor": 3.0}})"},
    {"longrope", R"({"model_type": "llama", "original_max_position_embeddings": 4,
      "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.5], "long_factor": [1.2, 3.0],
      "attention_factor": 0.8}})"},
    {"yarn", R"({"model_type": "qwen2", "num_hidden_layers": 1, "num_key_value_heads": 2,
      "hidden_size": 16, "max_position_embeddings": 32, "rope_parameters": {"rope_type": "yarn",
      "factor": 4.0, "original_max_position_embeddings": 8, "rope_theta": 50.0}})"},
    {"bert", R"({"model_type": "bert", "attention_probs_dropout_prob": 0.2,
      "hidden_dropout_prob": 0.1})"},
    {"roberta", R"({"model_type": "roberta", "max_position_embeddings": 10, "type_vocab_size": 1,
      "attention_probs_dropout_prob": 0.1, "pad_token_id": 1})"},
    {"distilbert", R"({"model_type": "distilbert", "n_layers": 2, "n_heads": 2, "dim": 8,
      "hidden_dim": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "attention_dropout": 0.2})"},
    {"marian", R"({"model_type": "marian", "encoder_layers": 2, "encoder_attention_heads": 4,
      "decoder_ffn_dim": 10, "activation_function": "relu", "scale_embedding": true,
      "attention_dropout": 0.2, "decoder_start_token_id": 10})"},
    {"blenderbot", R"({"model_type": "blenderbot", "encoder_layers": 1, "decoder_layers": 2,
      "tie_word_embeddings": false})"},
    {"gemma2", R"({"model_type": "gemma2", "num_key_value_heads": 1, "head_dim": 6,
      "sliding_window": 3, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
      "query_pre_attn_scalar": 4})"},
    {"gpt_neox", R"({"model_type": "gpt_neox", "hidden_size": 16, "hidden_dropout": 0.1,
      "attention_dropout": 0.2})"},
    {"gpt_neox_in_sequence", R"({"model_type": "gpt_neox", "num_hidden_layers": 1,
      "rotary_pct": 0.5, "use_parallel_residual": false})"},
    {"gptj", R"({"model_type": "gptj", "n_layer": 2, "n_head": 2, "n_embd": 12, "n_inner": 12,
      "n_positions": 8, "vocab_size": 11, "rotary_dim": 4})"},
    {"gpt_neo", R"({"model_type": "gpt_neo", "num_layers": 2, "num_heads": 2, "hidden_size": 8,
      "max_position_embeddings": 8, "vocab_size": 11, "window_size": 3})"},
    {"opt", R"({"model_type": "opt", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "ffn_dim": 12, "max_position_embeddings": 8, "vocab_size": 11})"},
    {"opt_projected", R"({"model_type": "opt", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "ffn_dim": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "word_embed_proj_dim": 6, "do_layer_norm_before": false})"},
    {"phi", R"({"model_type": "phi", "num_key_value_heads": 1, "qk_layernorm": true})"},
    {"phi3", R"({"model_type": "phi3", "num_key_value_heads": 1, "sliding_window": 3,
      "resid_pdrop": 0.1})"},
    {"gemma", R"({"model_type": "gemma", "num_key_value_heads": 1, "head_dim": 6})"},
    {"gemma3", R"({"model_type": "gemma3_text", "num_key_value_heads": 1, "head_dim": 6,
      "sliding_window": 3, "layer_types": ["full_attention", "sliding_attention"],
      "query_pre_attn_scalar": 4})"},
    {"gemma3_dynamic", R"({"model_type": "gemma3_text", "num_key_value_heads": 1, "head_dim": 6,
      "max_position_embeddings": 4, "sliding_window": 3,
      "layer_types": ["full_attention", "sliding_attention"], "rope_parameters": {
        "full_attention": {"rope_type": "dynamic", "factor": 2},
        "sliding_attention": {"rope_type": "dynamic", "factor": 4}}})"},
    {"gemma4", R"({"model_type": "gemma4_text", "num_hidden_layers": 4, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 4, "global_head_dim": 6, "sliding_window": 3,
      "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
      "full_attention"], "num_kv_shared_layers": 2, "use_double_wide_mlp": true,
      "hidden_size_per_layer_input": 6, "vocab_size_per_layer_input": 11})"},
    {"gemma4_keys_are_values", R"({"model_type": "gemma4_text", "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 4, "global_head_dim": 8,
      "num_global_key_value_heads": 1, "attention_k_eq_v": true, "sliding_window": 3,
      "layer_types": ["sliding_attention", "full_attention"], "hidden_size_per_layer_input": 0})"},
    {"qwen3_5", R"({"model_type": "qwen3_5_text", "num_hidden_layers": 4, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 8, "linear_num_key_heads": 2,
      "linear_num_value_heads": 4, "linear_key_head_dim": 4, "linear_value_head_dim": 4,
      "full_attention_interval": 2})",
     false},
    {"qwen3_5_attention", R"({"model_type": "qwen3_5_text", "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
      "full_attention_interval": 1})"},
    {"olmo", R"({"model_type": "olmo"})"},
    {"olmo_clipped", R"({"model_type": "olmo", "clip_qkv": 0.7})"},
    {"olmo2", R"({"model_type": "olmo2", "num_key_value_heads": 1})"},
    {"cohere_head_norms", R"({"model_type": "cohere", "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 16, "use_qk_norm": true})"},
    {"cohere2", R"({"model_type": "cohere2", "layer_types": ["sliding_attention", "full_attention"],
      "sliding_window": 3})"},
    {"stablelm", R"({"model_type": "stablelm", "num_key_value_heads": 1, "hidden_size": 16,
      "use_parallel_residual": true})"},
    {"stablelm_head_norms", R"({"model_type": "stablelm", "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 32, "qk_layernorm": true})"},
    {"starcoder2", R"({"model_type": "starcoder2", "residual_dropout": 0.1})"},
    {"smollm3", R"({"model_type": "smollm3", "num_attention_heads": 4,
      "no_rope_layer_interval": 2})"},
    {"glm4", R"({"model_type": "glm4", "head_dim": 8, "rms_norm_eps": 0.0001})"},
    {"granite", R"({"model_type": "granite", "embedding_multiplier": 2.0,
      "residual_multiplier": 0.4, "attention_multiplier": 0.3, "logits_scaling": 2.5,
      "attention_bias": true})"},
    {"nemotron", R"({"model_type": "nemotron"})"},
    {"helium", R"({"model_type": "helium", "num_key_value_heads": 1, "head_dim": 4})"},
    {"bloom", R"({"model_type": "bloom", "n_layer": 2, "n_head": 3, "hidden_size": 12,
      "vocab_size": 11, "hidden_dropout": 0.1})"},
    {"falcon", R"({"model_type": "falcon", "num_hidden_layers": 2, "num_attention_heads": 4,
      "hidden_size": 8, "vocab_size": 11, "max_position_embeddings": 8})"},
    {"falcon_new", R"({"model_type": "falcon", "num_hidden_layers": 2, "num_attention_heads": 4,
      "hidden_size": 8, "vocab_size": 11, "max_position_embeddings": 8, "num_kv_heads": 2,
      "new_decoder_architecture": true, "bias": true})"},
    {"falcon_rw", R"({"model_type": "falcon", "num_hidden_layers": 2, "num_attention_heads": 3,
      "hidden_size": 12, "vocab_size": 11, "max_position_embeddings": 8, "multi_query": false,
      "parallel_attn": false, "alibi": true, "bias": true})"},
    {"mixtral", R"({"model_type": "mixtral", "num_key_value_heads": 1, "num_local_experts": 3})"},
    {"qwen2_moe", R"({"model_type": "qwen2_moe", "num_key_value_heads": 1, "num_experts": 3,
      "num_experts_per_tok": 2, "moe_intermediate_size": 5, "shared_expert_intermediate_size": 6,
      "mlp_only_layers": [0]})"},
    {"qwen3_moe", R"({"model_type": "qwen3_moe", "num_hidden_layers": 1, "num_key_value_heads": 1,
      "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 5,
      "norm_topk_prob": true})"},
    {"olmoe", R"({"model_type": "olmoe", "num_hidden_layers": 1, "num_key_value_heads": 1,
      "intermediate_size": 6, "num_experts": 4, "num_experts_per_tok": 2})"},
    {"gpt_oss", R"({"model_type": "gpt_oss", "num_key_value_heads": 1, "head_dim": 4,
      "intermediate_size": 6, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 3,
      "swiglu_limit": 0.05})"},
    {"lesson", R"({"model_type": "lesson", "n_layer": 2, "n_head": 2, "n_embd": 8, "n_inner": 12,
      "n_positions": 8, "vocab_size": 11, "dropout": 0.1, "attention_dropout": 0.2,
      "initializer_range": 0.2})"},
    {"lesson_bare", R"({"model_type": "lesson", "n_layer": 1, "n_head": 2, "n_embd": 8,
      "n_inner": 0, "n_positions": 8, "vocab_size": 11, "residual": false, "norm": false,
      "initializer_range": 0.5})"},
    {"bigram", R"({"model_type": "lesson", "n_layer": 0, "n_embd": 11, "n_positions": 8,
      "vocab_size": 11, "position_embedding": false, "norm": false, "lm_head": false,
      "initializer_range": 0.5})"},
    {"t5", R"({"model_type": "t5", "num_layers": 2, "num_decoder_layers": 1, "num_heads": 2,
      "d_model": 8, "d_kv": 6, "d_ff": 12, "vocab_size": 11, "relative_attention_num_buckets": 8,
      "relative_attention_max_distance": 6, "dropout_rate": 0, "initializer_factor": 0.1})"},
    {"t5_encoder", R"({"model_type": "t5", "architectures": ["T5EncoderModel"], "num_layers": 2,
      "num_heads": 2, "d_model": 12, "d_kv": 6, "d_ff": 12, "vocab_size": 11,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6, "dropout_rate": 0,
      "initializer_factor": 0.1})"},
    {"bart", R"({"model_type": "bart", "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.1,
      "attention_dropout": 0.2})"},
    {"mbart", R"({"model_type": "mbart", "encoder_layers": 2, "scale_embedding": true,
      "decoder_start_token_id": 3})"},
    {"m2m_100", R"({"model_type": "m2m_100", "encoder_layers": 1, "decoder_layers": 1,
      "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
      "decoder_ffn_dim": 12, "d_model": 8, "max_position_embeddings": 8, "vocab_size": 12,
      "pad_token_id": 11, "encoder_layerdrop": 0, "decoder_layerdrop": 0})"},
    {"pegasus", R"({"model_type": "pegasus", "encoder_layers": 1, "tie_word_embeddings": false})"},
    {"electra", R"({"model_type": "electra", "embedding_size": 6, "hidden_dropout_prob": 0.1})"},
    {"albert", R"({"model_type": "albert", "num_hidden_layers": 3, "num_hidden_groups": 2,
      "inner_group_num": 2, "embedding_size": 6, "hidden_dropout_prob": 0.1,
      "attention_probs_dropout_prob": 0.2})"},
    {"mpnet", R"({"model_type": "mpnet", "max_position_embeddings": 10})"},
    {"modernbert", R"({"model_type": "modernbert", "num_hidden_layers": 3, "local_attention": 4,
      "embedding_dropout": 0.1})"},
    {"modernbert_biases", R"({"model_type": "modernbert", "num_hidden_layers": 1, "norm_bias": true,
      "attention_bias": true, "mlp_bias": true, "classifier_bias": true, "decoder_bias": false,
      "tie_word_embeddings": false})"},
    {"nomic_bert", R"({"model_type": "nomic_bert", "hidden_dropout_prob": 0.1})"},
    {"umt5", R"({"model_type": "umt5", "num_layers": 2, "num_heads": 2, "d_model": 8, "d_kv": 6,
      "d_ff": 12, "vocab_size": 11, "relative_attention_num_buckets": 8,
      "relative_attention_max_distance": 6, "dropout_rate": 0, "initializer_factor": 0.05})"},
    {"bert_untied", R"({"model_type": "bert", "num_hidden_layers": 1,
      "tie_word_embeddings": false})"},
    {"both_ways", R"({"model_type": "mistral", "num_attention_heads": 4, "num_key_value_heads": 2,
      "sliding_window": 3, "is_causal": false, "hidden_act": "quick_gelu"})"},
    {"t5_gated", R"({"model_type": "t5", "num_layers": 1, "num_heads": 2, "d_model": 8, "d_kv": 4,
      "d_ff": 12, "vocab_size": 11, "feed_forward_proj": "gated-gelu", "dropout_rate": 0,
      "tie_word_embeddings": false, "initializer_factor": 0.1})"}};

inline nlohmann::json complete(const FamilyConfig& family) {
  const nlohmann::json own = nlohmann::json::parse(family.own);
  if (own.contains("vocab_size")) return own;
  nlohmann::json config =
      nlohmann::json::parse(own.contains("encoder_layers") ? kPairSizes : kSizes);
  config.update(own);
  return config;
}

inline nlohmann::json family_config(std::string_view name) {
  for (const FamilyConfig& family : kFamilyConfigs)
    if (family.name == name) return complete(family);
  return {};
}

}  // namespace heed::test
