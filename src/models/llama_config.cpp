// The `config.json` of Llama and its kin, and the names of their tensors.
#include <fmt/format.h>

#include <algorithm>

#include "models/family.h"
#include "models/llama.h"
#include "models/rope_config.h"
#include "models/rotary_decoder.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"

namespace heed {
namespace {

// What a configuration that leaves a key out means, by model_type: transformers' defaults.
struct LlamaKin {
  std::string_view model_type;
  const char* title;
  std::int64_t inner, kv_heads, vocabulary, positions;
  std::int64_t head_dim;                       // 0: width / heads
  std::int64_t window;                         // 0: none
  bool qkv_bias, head_norms, begins_and_ends;  // the last: bos 1, eos 2
  // Keys that transformers passes over in the others.
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

// Qwen has windows in its upper layers, where it is told to; Mistral and Ministral in all.
bool has_window(const Config& config, const LlamaKin& kin, std::int64_t layer) {
  if (config.null("sliding_window") || kin.window == 0) return false;
  if (!kin.model_type.starts_with("qwen")) return true;
  return config.flag("use_sliding_window", false) &&
         layer >= config.extent("max_window_layers", 28, /*least=*/0);
}

std::vector<std::int64_t> windows_of(const Config& config, const LlamaKin& kin,
                                     std::int64_t layers) {
  std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && std::ssize(types) != layers)
    config.refuse("layer_types", fmt::format("a list of {}", types.size()),
                  fmt::format("{} entries, one per layer", layers));
  if (!kin.reads_layer_types) types.clear();  // like transformers
  const bool switched_off =
      kin.model_type.starts_with("qwen") && !config.flag("use_sliding_window", false);
  const std::int64_t window = switched_off ? 0 : config.extent("sliding_window", kin.window);
  std::vector<std::int64_t> windows;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string_view type =
        types.empty() ? (has_window(config, kin, layer) ? "sliding_attention" : "full_attention")
                      : std::string_view(types[static_cast<std::size_t>(layer)]);
    if (type != "sliding_attention" && type != "full_attention")
      config.refuse("layer_types", fmt::format("'{}' in layer {}", type, layer),
                    "full_attention or sliding_attention", ErrorCode::kUnsupported);
    if (type == "sliding_attention" && window == 0)
      config.refuse("sliding_window", "", fmt::format("a number, as layer {} has one", layer));
    windows.push_back(type == "sliding_attention" ? window : 0);
  }
  return windows;
}

void check(const LlamaConfig& read, const Config& config) {
  if (!config.has("head_dim") && read.width % read.heads != 0)
    config.refuse("hidden_size", read.width,
                  fmt::format("a multiple of num_attention_heads ({})", read.heads));
  if (read.heads % read.kv_heads != 0)
    config.refuse("num_key_value_heads", read.kv_heads,
                  fmt::format("a divisor of num_attention_heads ({})", read.heads));
  if (!(read.initial_deviation >= 0 && read.initial_deviation <= 1))
    config.refuse("initializer_range", read.initial_deviation, "0 to 1");
}

// Positions that scale with the text's length have no longest one; this bounds memory.
constexpr std::int64_t kLlamaAnyLength = std::int64_t{1} << 20;

// Windows are a list of as many entries as layers, so those are bounded.
constexpr std::int64_t kMostLlamaLayers = 10000;

void read_shape(const Config& config, const LlamaKin& kin, LlamaConfig& read) {
  read.layers = config.extent("num_hidden_layers", 32);
  if (read.layers > kMostLlamaLayers)
    config.refuse("num_hidden_layers", read.layers, fmt::format("at most {}", kMostLlamaLayers));
  read.heads = config.extent("num_attention_heads", 32);
  read.kv_heads = config.extent(
      "num_key_value_heads",
      kin.kv_heads == 0 || config.null("num_key_value_heads") ? read.heads : kin.kv_heads);
  read.width = config.extent("hidden_size", 4096);
  read.head_dim = config.extent("head_dim", kin.head_dim == 0
                                                ? std::max<std::int64_t>(read.width / read.heads, 1)
                                                : kin.head_dim);
  read.inner = config.extent("intermediate_size", kin.inner);
  read.vocabulary = config.extent("vocab_size", kin.vocabulary);
  read.positions = config.extent("max_position_embeddings", kin.positions);
}

}  // namespace

LlamaConfig LlamaConfig::read(const Config& config) {
  const LlamaKin& kin = llama_kin(config);
  LlamaConfig read;
  read.model_type = kin.model_type;
  read_shape(config, kin, read);
  read.epsilon = config.not_negative("rms_norm_eps", 1e-6);
  const bool bias = kin.reads_attention_bias && config.flag("attention_bias", false);
  read.qkv_bias = kin.qkv_bias || bias;
  read.out_bias = bias;
  read.mlp_bias = kin.reads_mlp_bias && config.flag("mlp_bias", false);
  read.head_norms = kin.head_norms;
  read.causal = is_causal(config);
  read.tied = config.flag("tie_word_embeddings", false);
  read.activation = config.activation("hidden_act", "silu");
  read.attention_dropout = config.rate("attention_dropout", 0);
  read.dropout = config.rate("dropout", 0);  // of heed's training; transformers reads past it
  read.initial_deviation = config.number("initializer_range", 0.02);
  read.bos = config.id("bos_token_id", kin.begins_and_ends ? 1 : -1);
  read.eos = config.ids("eos_token_id", kin.begins_and_ends ? std::vector<std::int64_t>{2}
                                                            : std::vector<std::int64_t>());
  read.bad_words = config.bad_words();
  check(read, config);
  read.rope = read_rope(config, read.head_dim, read.positions);
  read.windows = windows_of(config, kin, read.layers);
  if (read.rope.kind == RopeScalingKind::kDynamic) read.positions = kLlamaAnyLength;
  read.json = config.with({});
  return read;
}

ModelInfo LlamaConfig::info() const {
  ModelInfo info = decoder_info("llama", title(), *this);
  info.has_logits = has_words || tied;
  return info;
}

std::string LlamaConfig::title() const {
  return std::ranges::find(kLlamaKin, model_type, &LlamaKin::model_type)->title;
}

namespace {

Json llama_training_config(const TrainingShape& shape) {
  const LlamaKin& kin = *std::ranges::find(kLlamaKin, shape.model_type, &LlamaKin::model_type);
  const Json end = json_of_ids(shape.end_tokens);
  return {{"model_type", shape.model_type},
          {"architectures", Json::array({kin.title + std::string("ForCausalLM")})},
          {"vocab_size", shape.vocabulary},
          {"max_position_embeddings", shape.positions},
          {"hidden_size", shape.width},
          // Three matrices in the place of two: as many parameters as 4 C has without a gate.
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

// LlamaModel and heads for other tasks have none; a file that says nothing must have them.
bool wants_words(const Config& config) {
  const std::vector<std::string> said = config.texts("architectures");
  return said.empty() || std::ranges::any_of(said, [](const std::string& name) {
           return name.ends_with("ForCausalLM");
         });
}

ModelInfo describe_llama(const Config& config) {
  LlamaConfig read = LlamaConfig::read(config);
  read.has_words = wants_words(config);
  return read.info();
}

std::unique_ptr<Model> make_llama(const Config& config, std::uint64_t seed) {
  LlamaConfig read = LlamaConfig::read(config);
  read.has_words = wants_words(config);
  auto model = make_llama(read);
  initialise(model->parameters(),
             {.seed = seed, .deviation = [&](std::string_view) { return read.initial_deviation; }});
  return model;
}

std::unique_ptr<Model> load_llama(const Config& config, const Weights& weights,
                                  const Reading& reading) {
  LlamaConfig read = LlamaConfig::read(config);
  Spelling spelling = {.prefix = "model."};
  // As transformers: what the file holds counts where it contradicts the configuration.
  if (!reading.headers_only &&
      StoredWeights(weights, spelling).differ("lm_head.weight", "model.embed_tokens.weight"))
    read.tied = false;
  if (read.tied) {
    spelling.unused.emplace_back("lm_head.weight");
    spelling.otherwise = {{"model.embed_tokens.weight", "lm_head.weight"}};
  }
  const StoredWeights stored(weights, spelling);
  read.has_words = stored.holds("lm_head.weight") || wants_words(config);
  require_rotary_decoder(stored, read.info(), read.inner);
  auto model = make_llama(read);
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family llama_family() {
  return {{"llama", "mistral", "ministral", "qwen2", "qwen3"},
          describe_llama,
          make_llama,
          load_llama,
          llama_training_config};
}

}  // namespace heed
