// GPT-2 (Radford et al. 2019): a decoder with learned positions, layer norms before each branch and
// GELU. GPT-2 of all sizes, DistilGPT-2, nanoGPT.
#include <cmath>

#include "base/formats/json.h"
#include "models/classifier.h"
#include "models/decoder.h"
#include "models/training_config.h"

namespace heed {
namespace {

constexpr const char* kActivation = "gelu_new";

constexpr DecoderNames kGpt2Parts = {.prefix = "transformer.",
                                     .tokens = "transformer.wte",
                                     .positions = "transformer.wpe",
                                     .block = "transformer.h.",
                                     .attention_norm = "ln_1",
                                     .qkv = "attn.c_attn",
                                     .out = "attn.c_proj",
                                     .mlp_norm = "ln_2",
                                     .gate = "",
                                     .up = "mlp.c_fc",
                                     .down = "mlp.c_proj",
                                     .last_norm = "transformer.ln_f"};

void read_scales(const Config& config, DecoderShape& shape) {
  const bool by_head_dim = config.flag("scale_attn_weights", true);
  const bool by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
  const double usual = by_head_dim ? 1 / std::sqrt(static_cast<double>(shape.head_dim)) : 1.0;
  double layer = 0;
  for (DecoderLayer& own : shape.of_layers)
    own = {.rotation = {}, .scale = by_layer ? usual / ++layer : usual};
}

// Writes all members, because the oldest files omit most of them.
std::string json_of(const DecoderShape& shape, const Config& config) {
  std::vector<std::int64_t> begin;
  if (shape.bos >= 0) begin = {shape.bos};
  Json json = {
      {"model_type", "gpt2"},
      {"architectures", Json::array({"GPT2LMHeadModel"})},
      {"n_layer", shape.layers},
      {"n_head", shape.heads},
      {"n_embd", shape.width},
      {"n_inner", shape.inner},
      {"n_positions", shape.positions},
      {"vocab_size", shape.vocabulary},
      {"activation_function", config.text("activation_function", kActivation)},
      {"layer_norm_epsilon", shape.norm.epsilon},
      {"initializer_range", shape.deviation},
      {"embd_pdrop", shape.embedding_dropout},
      {"resid_pdrop", shape.dropout},
      {"attn_pdrop", shape.attention_dropout},
      {"scale_attn_weights", config.flag("scale_attn_weights", true)},
      {"scale_attn_by_inverse_layer_idx", config.flag("scale_attn_by_inverse_layer_idx", false)},
      {"tie_word_embeddings", shape.tied},
      {"bos_token_id", json_of_ids(begin)},
      {"eos_token_id", json_of_ids(shape.eos)}};
  if (!shape.causal) json.set("is_causal", false);
  if (!shape.bad_words.empty()) {
    Json words = Json::array();
    for (const std::vector<std::int64_t>& word : shape.bad_words) words.push(Json(word));
    json.set("bad_words_ids", std::move(words));
  }
  return json.dump(2) + "\n";
}

DecoderShape read_gpt2(const Config& config) {
  DecoderShape shape{.family = "gpt2", .title = "GPT-2", .names = kGpt2Parts};
  read_usual(config,
             {.layers = 12,
              .heads = 12,
              .width = 768,
              .vocabulary = 50257,
              .positions = 1024,
              .layers_key = "n_layer",
              .heads_key = "n_head",
              .width_key = "n_embd",
              .inner_key = "n_inner",
              .positions_key = "n_positions",
              .activation_key = "activation_function",
              .activation = kActivation,
              .epsilon_key = "layer_norm_epsilon",
              .epsilon = 1e-5,
              .heads_alike = true,
              .tied = true},
             shape);
  shape.layout = WeightLayout::kInOut;
  shape.qkv_bias = shape.out_bias = shape.mlp_bias = true;
  shape.embedding_dropout = config.rate("embd_pdrop", 0.1);  // transformers' defaults
  shape.dropout = config.rate("resid_pdrop", 0.1);
  shape.attention_dropout = config.rate("attn_pdrop", 0.1);
  read_scales(config, shape);
  shape.keeps_tie = classifier_config(config).has_value();
  shape.tied = shape.tied || shape.keeps_tie;
  if (const std::int64_t end_of_text = 50256; shape.vocabulary > end_of_text) {
    shape.bos = config.id("bos_token_id", end_of_text);
    shape.eos = config.ids("eos_token_id", {end_of_text});
  }
  shape.into_stream = shape.deviation / std::sqrt(2 * static_cast<double>(shape.layers));
  if (config.flag("add_cross_attention", false))
    config.refuse("add_cross_attention", "true", "false: this family is a decoder alone",
                  ErrorCode::kUnsupported);
  shape.unused = {".attn.bias"};
  shape.json = json_of(shape, config);
  return shape;
}

Json gpt2_training_config(const TrainingShape& shape) {
  const Json end = json_of_ids(shape.end_tokens);
  return {{"model_type", "gpt2"},
          {"architectures", Json::array({"GPT2LMHeadModel"})},
          {"vocab_size", shape.vocabulary},
          {"n_positions", shape.positions},
          {"n_ctx", shape.positions},
          {"n_embd", shape.width},
          {"n_layer", shape.layers},
          {"n_head", shape.heads},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", 1e-5},
          {"embd_pdrop", shape.dropout},
          {"attn_pdrop", shape.attention_dropout},
          {"resid_pdrop", shape.dropout},
          {"bos_token_id", end},
          {"eos_token_id", end}};
}

}  // namespace

Family gpt2_family() { return decoder_family<read_gpt2>({"gpt2"}, gpt2_training_config); }

}  // namespace heed
