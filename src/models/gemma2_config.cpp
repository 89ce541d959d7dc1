// Gemma 2's `config.json` and the names of its tensors.
#include <fmt/format.h>

#include <cmath>

#include "models/family.h"
#include "models/gemma2.h"
#include "models/rope_config.h"
#include "models/rotary_decoder.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"

namespace heed {
namespace {

// A cap of null is none.
double cap_of(const Config& config, const char* key, double otherwise) {
  return config.null(key) ? 0 : config.positive(key, otherwise);
}

// Every other layer has a window, the first one too, unless a list says otherwise.
std::vector<bool> slides_of(const Config& config, std::int64_t layers) {
  const std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && std::ssize(types) != layers)
    config.refuse("layer_types", fmt::format("a list of {}", types.size()),
                  fmt::format("{} entries, one per layer", layers));
  for (const std::string& type : types)
    if (type != "sliding_attention" && type != "full_attention")
      config.refuse("layer_types", fmt::format("'{}'", type), "full_attention or sliding_attention",
                    ErrorCode::kUnsupported);
  std::vector<bool> slides;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    slides.push_back(types.empty() ? layer % 2 == 0
                                   : types[static_cast<std::size_t>(layer)] == "sliding_attention");
  return slides;
}

constexpr std::int64_t kMostGemma2Layers = 10000;  // the list above is as long

void check(const Gemma2Config& read, const Config& config) {
  if (read.layers > kMostGemma2Layers)
    config.refuse("num_hidden_layers", read.layers, fmt::format("at most {}", kMostGemma2Layers));
  if (read.heads % read.kv_heads != 0)
    config.refuse("num_key_value_heads", read.kv_heads,
                  fmt::format("a divisor of num_attention_heads ({})", read.heads));
}

}  // namespace

Gemma2Config Gemma2Config::read(const Config& config) {
  Gemma2Config read;
  read.layers = config.extent("num_hidden_layers", 26);
  read.heads = config.extent("num_attention_heads", 8);
  read.kv_heads = config.extent("num_key_value_heads", 4);
  read.width = config.extent("hidden_size", 2304);
  read.head_dim = config.extent("head_dim", 256);
  read.inner = config.extent("intermediate_size", 9216);
  read.vocabulary = config.extent("vocab_size", 256000);
  read.positions = config.extent("max_position_embeddings", 8192);
  read.window = config.extent("sliding_window", 4096);
  read.query_scale = 1 / std::sqrt(config.positive("query_pre_attn_scalar", 256));
  read.score_cap = cap_of(config, "attn_logit_softcapping", 50);
  read.logit_cap = cap_of(config, "final_logit_softcapping", 30);
  read.epsilon = config.not_negative("rms_norm_eps", 1e-6);
  read.attention_dropout = config.rate("attention_dropout", 0);
  read.initial_deviation = config.number("initializer_range", 0.02);
  read.causal = is_causal(config);
  read.tied = config.flag("tie_word_embeddings", true);
  read.activation = config.activation("hidden_activation", "gelu_pytorch_tanh");
  read.bias = config.flag("attention_bias", false);
  read.bos = config.id("bos_token_id", 2);
  read.eos = config.ids("eos_token_id", {1});
  read.bad_words = config.bad_words();
  check(read, config);
  read.slides = slides_of(config, read.layers);
  read.rope = read_rope(config, read.head_dim, read.positions);
  read.json = config.with(Json::object());
  return read;
}

ModelInfo Gemma2Config::info() const { return decoder_info("gemma2", "Gemma 2", *this); }

namespace {

Json gemma2_training_config(const TrainingShape& shape) {
  if (shape.dropout > 0)
    fail({.code = ErrorCode::kUnsupported,
          .op = "train",
          .argument = "dropout",
          .found = shape.dropout,
          .expected = "0: Gemma 2 has none"});
  const Json end = json_of_ids(shape.end_tokens);
  const std::int64_t head_dim = shape.width / shape.heads;
  return {{"model_type", "gemma2"},
          {"architectures", Json::array({"Gemma2ForCausalLM"})},
          {"vocab_size", shape.vocabulary},
          {"max_position_embeddings", shape.positions},
          {"hidden_size", shape.width},
          {"intermediate_size", (8 * shape.width + 2) / 3},
          {"num_hidden_layers", shape.layers},
          {"num_attention_heads", shape.heads},
          {"num_key_value_heads", shape.heads},
          {"head_dim", head_dim},
          {"query_pre_attn_scalar", head_dim},
          {"sliding_window", (shape.positions + 1) / 2},
          {"attention_dropout", shape.attention_dropout},
          {"pad_token_id", nullptr},  // transformers would take 0, which is a token of the text
          {"bos_token_id", end},
          {"eos_token_id", end}};
}

ModelInfo describe_gemma2(const Config& config) { return Gemma2Config::read(config).info(); }

std::unique_ptr<Model> make_gemma2(const Config& config, std::uint64_t seed) {
  const Gemma2Config read = Gemma2Config::read(config);
  auto model = make_gemma2(read);
  initialise(model->parameters(),
             {.seed = seed,
              .deviation = [&](std::string_view) { return read.initial_deviation; },
              .norm = 0});  // with the offset: 1
  return model;
}

std::unique_ptr<Model> load_gemma2(const Config& config, const Weights& weights,
                                   const Reading& reading) {
  constexpr const char* kWords = "model.embed_tokens.weight";
  Gemma2Config read = Gemma2Config::read(config);
  Spelling spelling = {.prefix = "model."};
  // Like transformers: what the file holds counts where it contradicts the configuration.
  if (!reading.headers_only && StoredWeights(weights, spelling).differ("lm_head.weight", kWords))
    read.tied = false;
  if (read.tied) {
    spelling.otherwise = {{kWords, "lm_head.weight"}};
    spelling.unused = {"lm_head.weight"};
  }
  const StoredWeights stored(weights, spelling);
  require_rotary_decoder(stored, read.info(), read.inner);
  auto model = make_gemma2(read);
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family gemma2_family() {
  return {{"gemma2"}, describe_gemma2, make_gemma2, load_gemma2, gemma2_training_config};
}

}  // namespace heed
