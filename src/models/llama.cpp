// Llama (Touvron et al. 2023) and similar models: a decoder with rotary positions, RMSNorm before
// each branch, SwiGLU and shared keys. Llama 2 and 3, Mistral, Qwen2 and 3, SmolLM, TinyLlama.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/decoder.h"
#include "models/training_config.h"

namespace heed {
namespace {

// The defaults of absent keys by model_type, as in transformers.
struct LlamaKin {
  std::string_view model_type;
  const char* title;
  std::int64_t inner, kv_heads, vocabulary, positions;
  std::int64_t head_dim;                       // 0: width / heads
  std::int64_t window;                         // 0: none
  bool qkv_bias, head_norms, begins_and_ends;  // the last: bos 1, eos 2
  // Keys that transformers ignores in the other families.
  bool reads_attention_bias, reads_mlp_bias, reads_layer_types;
};
constexpr LlamaKin kLlamaKin[] = {
    {"llama", "Llama", 11008, 0, 32000, 2048, 0, 0, false, false, true, true, true, false},
    {"mistral", "Mistral", 14336, 8, 32000, 131072, 0, 4096, false, false, true, false, false,
     false},
    {"ministral", "Ministral", 14336, 8, 32000, 131072, 0, 4096, false, false, true, false, false,
     true},
    {"qwen2", "Qwen2", 22016, 32, 151936, 32768, 0, 4096, true, false, false, false, false, true},
    {"qwen3", "Qwen3", 22016, 32, 151936, 32768, 128, 4096, false, true, false, true, false, true}};

const LlamaKin& llama_kin(const Config& config) {
  return *std::ranges::find(kLlamaKin, config.text("model_type", "llama"), &LlamaKin::model_type);
}

// Qwen has windows in its upper layers if the configuration says so; Mistral and Ministral in all
// layers.
bool has_window(const Config& config, const LlamaKin& kin, std::int64_t layer) {
  if (config.null("sliding_window") || kin.window == 0) return false;
  if (!kin.model_type.starts_with("qwen")) return true;
  return config.flag("use_sliding_window", false) &&
         layer >= config.extent("max_window_layers", 28, /*least=*/0);
}

void read_llama_windows(const Config& config, const LlamaKin& kin, DecoderShape& shape) {
  std::vector<bool> slides;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    slides.push_back(has_window(config, kin, layer));
  if (kin.reads_layer_types)
    slides = sliding_layers(config, std::move(slides));
  else  // like transformers, which counts the skipped entries
    require_one_per_layer(config, "layer_types", std::ssize(config.texts("layer_types")),
                          shape.layers);
  const bool switched_off =
      kin.model_type.starts_with("qwen") && !config.flag("use_sliding_window", false);
  const std::int64_t window = switched_off ? 0 : config.extent("sliding_window", kin.window);
  for (std::size_t layer = 0; layer < slides.size(); ++layer) {
    if (slides[layer] && window == 0)
      config.refuse("sliding_window", "", fmt::format("a number, as layer {} has one", layer));
    shape.of_layers[layer].window = slides[layer] ? window : 0;
  }
}

DecoderShape read_llama(const Config& config) {
  const LlamaKin& kin = llama_kin(config);
  DecoderShape shape{.family = "llama", .title = kin.title};
  UsualKeys usual{.layers = 32,
                  .heads = 32,
                  .kv_heads = kin.kv_heads,
                  .width = 4096,
                  .head_dim = kin.head_dim,
                  .inner = kin.inner,
                  .vocabulary = kin.vocabulary,
                  .positions = kin.positions};
  if (kin.begins_and_ends) {
    usual.bos = 1;
    usual.eos = {2};
  }
  read_usual(config, usual, shape);
  const bool bias = kin.reads_attention_bias && config.flag("attention_bias", false);
  shape.qkv_bias = kin.qkv_bias || bias;
  shape.out_bias = bias;
  shape.mlp_bias = kin.reads_mlp_bias && config.flag("mlp_bias", false);
  if (kin.head_norms) {
    shape.names.q_norm = "self_attn.q_norm";
    shape.names.k_norm = "self_attn.k_norm";
    shape.head_norm.width = shape.head_dim;
  }
  // heed's training writes this key; transformers ignores it.
  shape.embedding_dropout = shape.dropout = config.rate("dropout", 0);
  read_rotation(config, shape);
  read_llama_windows(config, kin, shape);
  return shape;
}

Json llama_training_config(const TrainingShape& shape) {
  const LlamaKin& kin = *std::ranges::find(kLlamaKin, shape.model_type, &LlamaKin::model_type);
  const Json end = json_of_ids(shape.end_tokens);
  return {{"model_type", shape.model_type},
          {"architectures", Json::array({kin.title + std::string("ForCausalLM")})},
          {"vocab_size", shape.vocabulary},
          {"max_position_embeddings", shape.positions},
          {"hidden_size", shape.width},
          // Three matrices instead of two, with as many parameters as 4 C without a gate.
          {"intermediate_size", (8 * shape.width + 2) / 3},
          {"num_hidden_layers", shape.layers},
          {"num_attention_heads", shape.heads},
          {"num_key_value_heads", shape.heads},
          {"head_dim", shape.width / shape.heads},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"attention_dropout", shape.attention_dropout},
          {"dropout", shape.dropout},
          {"tie_word_embeddings", true},
          {"bos_token_id", end},
          {"eos_token_id", end}};
}

}  // namespace

Family llama_family() {
  return decoder_family<read_llama>({"llama", "mistral", "ministral", "qwen2", "qwen3"},
                                    llama_training_config);
}

}  // namespace heed
