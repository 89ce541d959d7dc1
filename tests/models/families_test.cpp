// The promises of every family, on one tiny configuration per variant.
// tests/inspect/golden_check_test.cpp compares their numbers with transformers.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "heed/models/registry.h"
#include "ops/loss.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

using Counts = std::vector<std::int64_t>;

struct Variant {
  const char* name;
  const char* config;
};

constexpr Variant kVariants[] = {
    {"gpt2", R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 8,
      "vocab_size": 11, "attn_pdrop": 0.2, "resid_pdrop": 0.1, "embd_pdrop": 0.1})"},
    {"llama", R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 8, "head_dim": 4, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "attention_bias": true, "mlp_bias": true,
      "attention_dropout": 0.2, "dropout": 0.1})"},
    {"mistral", R"({"model_type": "mistral", "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 8, "intermediate_size": 12, "sliding_window": 3,
      "max_position_embeddings": 8, "vocab_size": 11, "tie_word_embeddings": true})"},
    {"qwen3", R"({"model_type": "qwen3", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 6, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "layer_types": ["full_attention",
      "sliding_attention"], "use_sliding_window": true, "sliding_window": 2,
      "rope_theta": 100.0})"},
    {"dynamic", R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 12, "intermediate_size": 12, "max_position_embeddings": 3, "vocab_size": 11,
      "rope_scaling": {"type": "dynamic", "factor": 3.0}})"},
    {"longrope", R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "original_max_position_embeddings": 4, "rope_scaling": {"type": "longrope",
      "short_factor": [1.0, 1.5], "long_factor": [1.2, 3.0], "attention_factor": 0.8}})"},
    {"yarn", R"({"model_type": "qwen2", "num_hidden_layers": 1, "num_attention_heads": 2,
      "num_key_value_heads": 2, "hidden_size": 16, "intermediate_size": 12,
      "max_position_embeddings": 32, "vocab_size": 11, "rope_parameters": {"rope_type": "yarn",
      "factor": 4.0, "original_max_position_embeddings": 8, "rope_theta": 50.0}})"},
    {"bert", R"({"model_type": "bert", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "attention_probs_dropout_prob": 0.2, "hidden_dropout_prob": 0.1})"},
    {"roberta", R"({"model_type": "roberta", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 10, "vocab_size": 11,
      "type_vocab_size": 1, "attention_probs_dropout_prob": 0.1, "pad_token_id": 1})"},
    {"distilbert", R"({"model_type": "distilbert", "n_layers": 2, "n_heads": 2, "dim": 8,
      "hidden_dim": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "attention_dropout": 0.2})"},
    {"marian", R"({"model_type": "marian", "encoder_layers": 2, "decoder_layers": 1,
      "encoder_attention_heads": 4, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
      "decoder_ffn_dim": 10, "d_model": 8, "max_position_embeddings": 8, "vocab_size": 11,
      "activation_function": "relu", "scale_embedding": true, "attention_dropout": 0.2,
      "decoder_start_token_id": 10})"},
    {"blenderbot", R"({"model_type": "blenderbot", "encoder_layers": 1, "decoder_layers": 2,
      "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
      "decoder_ffn_dim": 12, "d_model": 8, "max_position_embeddings": 8, "vocab_size": 11,
      "tie_word_embeddings": false})"},
    {"gemma2", R"({"model_type": "gemma2", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 6, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "sliding_window": 3,
      "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
      "query_pre_attn_scalar": 4})"},
    {"gpt_neox", R"({"model_type": "gpt_neox", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 16, "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "hidden_dropout": 0.1, "attention_dropout": 0.2})"},
    {"gpt_neox_in_sequence", R"({"model_type": "gpt_neox", "num_hidden_layers": 1,
      "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 12, "rotary_pct": 0.5,
      "max_position_embeddings": 8, "vocab_size": 11, "use_parallel_residual": false})"},
    {"gptj", R"({"model_type": "gptj", "n_layer": 2, "n_head": 2, "n_embd": 12, "n_inner": 12,
      "n_positions": 8, "vocab_size": 11, "rotary_dim": 4})"},
    {"gpt_neo", R"({"model_type": "gpt_neo", "num_layers": 2, "num_heads": 2, "hidden_size": 8,
      "max_position_embeddings": 8, "vocab_size": 11, "window_size": 3})"},
    {"opt", R"({"model_type": "opt", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "ffn_dim": 12, "max_position_embeddings": 8, "vocab_size": 11})"},
    {"opt_projected", R"({"model_type": "opt", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "ffn_dim": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "word_embed_proj_dim": 6, "do_layer_norm_before": false})"},
    {"phi", R"({"model_type": "phi", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "intermediate_size": 12, "qk_layernorm": true,
      "max_position_embeddings": 8, "vocab_size": 11})"},
    {"phi3", R"({"model_type": "phi3", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "intermediate_size": 12, "sliding_window": 3,
      "max_position_embeddings": 8, "vocab_size": 11, "resid_pdrop": 0.1})"},
    {"gemma", R"({"model_type": "gemma", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 6, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11})"},
    {"gemma3", R"({"model_type": "gemma3_text", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 6, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "sliding_window": 3,
      "layer_types": ["full_attention", "sliding_attention"], "query_pre_attn_scalar": 4})"},
    {"gemma3_dynamic", R"({"model_type": "gemma3_text", "num_hidden_layers": 2,
      "num_attention_heads": 2, "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 6,
      "intermediate_size": 12, "max_position_embeddings": 4, "vocab_size": 11, "sliding_window": 3,
      "layer_types": ["full_attention", "sliding_attention"], "rope_parameters": {
        "full_attention": {"rope_type": "dynamic", "factor": 2},
        "sliding_attention": {"rope_type": "dynamic", "factor": 4}}})"},
    {"olmo", R"({"model_type": "olmo", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 8,
      "vocab_size": 11})"},
    {"olmo_clipped", R"({"model_type": "olmo", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "clip_qkv": 0.7})"},
    {"olmo2", R"({"model_type": "olmo2", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11})"},
    {"cohere_head_norms", R"({"model_type": "cohere", "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 16,
      "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "use_qk_norm": true})"},
    {"cohere2", R"({"model_type": "cohere2", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 3})"},
    {"stablelm", R"({"model_type": "stablelm", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 16, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "use_parallel_residual": true})"},
    {"stablelm_head_norms", R"({"model_type": "stablelm", "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32,
      "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "qk_layernorm": true})"},
    {"starcoder2", R"({"model_type": "starcoder2", "num_hidden_layers": 2,
      "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "residual_dropout": 0.1})"},
    {"smollm3", R"({"model_type": "smollm3", "num_hidden_layers": 2, "num_attention_heads": 4,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "no_rope_layer_interval": 2})"},
    {"glm4", R"({"model_type": "glm4", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "head_dim": 8, "intermediate_size": 12, "max_position_embeddings": 8,
      "vocab_size": 11, "rms_norm_eps": 1e-4})"},
    {"granite", R"({"model_type": "granite", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "embedding_multiplier": 2.0, "residual_multiplier": 0.4, "attention_multiplier": 0.3,
      "logits_scaling": 2.5, "attention_bias": true})"},
    {"nemotron", R"({"model_type": "nemotron", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11})"},
    {"helium", R"({"model_type": "helium", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 4, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11})"},
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
    {"mixtral", R"({"model_type": "mixtral", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "intermediate_size": 12, "num_local_experts": 3,
      "max_position_embeddings": 8, "vocab_size": 11})"},
    {"qwen2_moe", R"({"model_type": "qwen2_moe", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "intermediate_size": 12, "num_experts": 3,
      "num_experts_per_tok": 2, "moe_intermediate_size": 5, "shared_expert_intermediate_size": 6,
      "mlp_only_layers": [0], "max_position_embeddings": 8, "vocab_size": 11})"},
    {"qwen3_moe", R"({"model_type": "qwen3_moe", "num_hidden_layers": 1, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "intermediate_size": 12, "num_experts": 4,
      "num_experts_per_tok": 2, "moe_intermediate_size": 5, "norm_topk_prob": true,
      "max_position_embeddings": 8, "vocab_size": 11})"},
    {"olmoe", R"({"model_type": "olmoe", "num_hidden_layers": 1, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "intermediate_size": 6, "num_experts": 4,
      "num_experts_per_tok": 2, "max_position_embeddings": 8, "vocab_size": 11})"},
    {"gpt_oss", R"({"model_type": "gpt_oss", "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 4, "intermediate_size": 6,
      "num_local_experts": 4, "num_experts_per_tok": 2, "max_position_embeddings": 8,
      "vocab_size": 11, "sliding_window": 3, "swiglu_limit": 0.05})"},
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
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6,
      "dropout_rate": 0, "initializer_factor": 0.1})"},
    {"bart", R"({"model_type": "bart", "encoder_layers": 1, "decoder_layers": 2,
      "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
      "decoder_ffn_dim": 12, "d_model": 8, "max_position_embeddings": 8, "vocab_size": 11,
      "dropout": 0.1, "attention_dropout": 0.2})"},
    {"mbart", R"({"model_type": "mbart", "encoder_layers": 2, "decoder_layers": 1,
      "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
      "decoder_ffn_dim": 12, "d_model": 8, "max_position_embeddings": 8, "vocab_size": 11,
      "scale_embedding": true, "decoder_start_token_id": 3})"},
    {"m2m_100", R"({"model_type": "m2m_100", "encoder_layers": 1, "decoder_layers": 1,
      "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
      "decoder_ffn_dim": 12, "d_model": 8, "max_position_embeddings": 8, "vocab_size": 12,
      "pad_token_id": 11, "encoder_layerdrop": 0, "decoder_layerdrop": 0})"},
    {"pegasus", R"({"model_type": "pegasus", "encoder_layers": 1, "decoder_layers": 1,
      "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
      "decoder_ffn_dim": 12, "d_model": 8, "max_position_embeddings": 8, "vocab_size": 11,
      "tie_word_embeddings": false})"},
    {"electra", R"({"model_type": "electra", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "embedding_size": 6, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "hidden_dropout_prob": 0.1})"},
    {"albert", R"({"model_type": "albert", "num_hidden_layers": 3, "num_hidden_groups": 2,
      "inner_group_num": 2, "num_attention_heads": 2, "hidden_size": 8, "embedding_size": 6,
      "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.2})"},
    {"mpnet", R"({"model_type": "mpnet", "num_hidden_layers": 2, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 10,
      "vocab_size": 11})"},
    {"modernbert", R"({"model_type": "modernbert", "num_hidden_layers": 3,
      "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "local_attention": 4,
      "embedding_dropout": 0.1})"},
    {"modernbert_biases", R"({"model_type": "modernbert", "num_hidden_layers": 1,
      "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "norm_bias": true, "attention_bias": true,
      "mlp_bias": true, "classifier_bias": true, "decoder_bias": false,
      "tie_word_embeddings": false})"},
    {"nomic_bert", R"({"model_type": "nomic_bert", "num_hidden_layers": 2,
      "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 12,
      "max_position_embeddings": 8, "vocab_size": 11, "hidden_dropout_prob": 0.1})"},
    {"umt5", R"({"model_type": "umt5", "num_layers": 2, "num_heads": 2, "d_model": 8, "d_kv": 6,
      "d_ff": 12, "vocab_size": 11, "relative_attention_num_buckets": 8,
      "relative_attention_max_distance": 6, "dropout_rate": 0, "initializer_factor": 0.05})"},
    {"bert_untied", R"({"model_type": "bert", "num_hidden_layers": 1, "num_attention_heads": 2,
      "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 8, "vocab_size": 11,
      "tie_word_embeddings": false})"},
    {"both_ways", R"({"model_type": "mistral", "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 8, "intermediate_size": 12, "sliding_window": 3,
      "max_position_embeddings": 8, "vocab_size": 11, "is_causal": false,
      "hidden_act": "quick_gelu"})"},
    {"t5_gated", R"({"model_type": "t5", "num_layers": 1, "num_heads": 2, "d_model": 8, "d_kv": 4,
      "d_ff": 12, "vocab_size": 11, "feed_forward_proj": "gated-gelu", "dropout_rate": 0,
      "tie_word_embeddings": false, "initializer_factor": 0.1})"}};

// Two texts of 7 tokens, with types and sources where the model reads them.
struct Inputs {
  explicit Inputs(const ModelInfo& info)
      : ids(test::random_ids({2, 7}, 11, 1)),
        types(test::random_ids({2, 7}, static_cast<int>(info.token_types), 2)),
        source(test::random_ids({2, 5}, 11, 3)) {
    batch.ids = ids;
    if (info.token_types > 1) batch.types = types;
    if (info.reads_source()) {
      batch.source = source;
      batch.source_lengths = {5, 3};
    }
  }

  Tensor ids, types, source;
  Batch batch;
};

class Families : public testing::TestWithParam<Variant> {
 protected:
  std::unique_ptr<Model> model_ = make_model(GetParam().config, 1);
};

// In f64, far from the flat start.
void steepen(Model& model) {
  for (Parameter* parameter : model.parameters()) {
    parameter->value = Tensor::converted(parameter->value, DType::kF64);
    for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
      parameter->value.data<double>()[i] =
          10 * parameter->value.data<double>()[i] + 0.01 * static_cast<double>(i % 7);
  }
}

TEST_P(Families, GradientsAreFiniteDifferences) {
  steepen(*model_);
  const Inputs inputs(model_->info());
  const Tensor targets = test::random_ids({2, 7}, 11, 4);
  Saved saved;
  heed::Run run;
  run.dropout_seed = 3;
  run.saved = &saved;
  run.extents = {.query_length = {7, 4}, .key_length = {7, 4}};
  const Tensor logits = model_->forward(inputs.batch, run);
  Tensor dlogits = Tensor::empty(logits.shape(), DType::kF64);
  cross_entropy({.logits = logits, .targets = targets, .dlogits = dlogits});
  Gradients gradients;
  model_->backward(dlogits, inputs.batch, run, gradients);
  EXPECT_TRUE(saved.empty());
  run.saved = nullptr;
  for (Parameter* parameter : model_->parameters()) {
    SCOPED_TRACE(parameter->name);
    test::expect_gradient(
        parameter->value, gradients.of(*parameter),
        [&] {
          const Tensor again = model_->forward(inputs.batch, run);
          return cross_entropy({.logits = again, .targets = targets}).mean;
        },
        1e-5, 3);
  }
}

// Each row's own length counts where positions scale with it: alone it is as long as in no batch.
TEST_P(Families, PaddingHasNoInfluence) {
  const Inputs inputs(model_->info());
  heed::Run run;
  run.extents = {.query_length = {7, 4}, .key_length = {7, 4}};
  const Tensor before = model_->forward(inputs.batch, run);
  Inputs others(model_->info());
  for (std::int64_t t = 4; t < 7; ++t) others.ids.data<std::int32_t>()[7 + t] = 5;
  for (std::int64_t t = 3; t < 5; ++t) others.source.data<std::int32_t>()[5 + t] = 5;
  const Tensor after = model_->forward(others.batch, run);
  EXPECT_TRUE(test::same_bits(before.view().select(0, 0), after.view().select(0, 0)));
  EXPECT_TRUE(test::same_bits(before.view().select(0, 1).slice(0, 0, 4),
                              after.view().select(0, 1).slice(0, 0, 4)));
}

TEST_P(Families, TheLastPositionAloneIsTheLastOfAll) {
  const Inputs inputs(model_->info());
  heed::Run run;
  run.extents = {.query_length = {7, 4}, .key_length = {7, 4}};
  const Tensor all = model_->forward(inputs.batch, run);
  run.last_position_only = true;
  const Tensor last = model_->forward(inputs.batch, run);
  EXPECT_LE(test::largest_difference(last.view().select(0, 0).select(0, 0),
                                     all.view().select(0, 0).select(0, 6)),
            1e-6);
  EXPECT_LE(test::largest_difference(last.view().select(0, 1).select(0, 0),
                                     all.view().select(0, 1).select(0, 3)),
            1e-6);
}

// Text by text, so that positions that scale with the length do so in both.
TEST_P(Families, OverACacheLogitsAreThoseOfTheWholeText) {
  const ModelInfo& info = model_->info();
  if (!info.causal && !info.reads_source()) GTEST_SKIP() << "an encoder writes no text";
  const Inputs inputs(info);
  KvCache cache = make_cache(*model_, 1, 7);
  for (const Counts& piece : {Counts{0, 3}, Counts{3, 4}, Counts{4, 7}}) {
    const Tensor whole_ids =
        Tensor::copy_of(inputs.ids.view().slice(0, 0, 1).slice(1, 0, piece[1]));
    const Tensor part = Tensor::copy_of(whole_ids.view().slice(1, piece[0], piece[1]));
    Batch whole = {.ids = whole_ids};
    if (info.reads_source()) whole.source = inputs.source.view().slice(0, 0, 1);
    heed::Run plain;
    plain.last_position_only = true;
    const Tensor expected = model_->forward(whole, plain);
    heed::Run run;
    run.cache = &cache;
    run.last_position_only = true;
    Batch batch = {.ids = part};
    if (piece[0] == 0) batch.source = whole.source;
    EXPECT_LE(test::largest_difference(model_->forward(batch, run), expected), 1e-5) << piece[0];
  }
}

TEST_P(Families, WhatIsSavedLoadsTheSame) {
  const test::Scratch scratch;
  save_model(scratch / "saved", *model_, nullptr, DType::kF32);
  const LoadedModel loaded = load_model(scratch / "saved");
  const Inputs inputs(model_->info());
  heed::Run run;
  heed::Run again;
  EXPECT_TRUE(test::same_bits(loaded.model->forward(inputs.batch, run),
                              model_->forward(inputs.batch, again)));
  EXPECT_EQ(why_not_loaded(scratch / "saved"),
            "it has no tokenizer, so only token ids can be read");
}

TEST_P(Families, StacksTellEveryAttentionOfAPass) {
  struct Counter : Tap {
    void attended(const TapName& name, const AttentionArgs& args,
                  const AttendedConstView& /*attended*/) override {
      heads[static_cast<std::size_t>(name.stack)] += static_cast<int>(args.q.dim(1));
    }
    std::array<int, 4> heads = {};
  };
  Counter counter;
  const Inputs inputs(model_->info());
  heed::Run run;
  run.tap = &counter;
  model_->forward(inputs.batch, run);
  std::array<int, 4> told = {};
  for (const StackShape& stack : model_->info().stacks)
    told[static_cast<std::size_t>(stack.stack)] += stack.layers * stack.heads;
  EXPECT_EQ(counter.heads, told);
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(kVariants),
                         [](const testing::TestParamInfo<Variant>& variant) {
                           return variant.param.name;
                         });

}  // namespace
}  // namespace heed
