// GPT-2's `config.json` and the names of its tensors.
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "models/gpt2.h"

namespace heed {
namespace {

double rate(const Config& config, const char* key) {
  const double value = config.number(key, 0.1);  // transformers' default
  if (!(value >= 0 && value < 1))
    fail(ErrorCode::kCorrupt, "{}: '{}' is {}, expected 0 or more and below 1", config.source(),
         key, value);
  return value;
}

void check(const Gpt2Config& read, const Config& config) {
  if (read.width % read.heads != 0)
    fail(ErrorCode::kCorrupt, "{}: n_embd is {} and n_head is {}, expected a multiple of n_head",
         config.source(), read.width, read.heads);
  if (read.activation != "gelu" && read.activation != "gelu_new" &&
      read.activation != "gelu_pytorch_tanh")
    fail(ErrorCode::kUnsupported,
         "{}: activation_function is '{}', expected one of: gelu_new, gelu, gelu_pytorch_tanh",
         config.source(), read.activation);
  if (!(read.initial_deviation >= 0 && read.initial_deviation <= 1))
    fail(ErrorCode::kCorrupt, "{}: initializer_range is {}, expected 0 to 1", config.source(),
         read.initial_deviation);
  if (config.flag("add_cross_attention", false))
    fail(ErrorCode::kUnsupported,
         "{}: add_cross_attention is true, expected false: this family is a decoder alone",
         config.source());
}

}  // namespace

Gpt2Config Gpt2Config::read(const Config& config) {
  Gpt2Config read;
  read.layers = config.extent("n_layer", 12);
  read.heads = config.extent("n_head", 12);
  read.width = config.extent("n_embd", 768);
  read.inner = config.extent("n_inner", 4 * read.width);
  read.vocabulary = config.extent("vocab_size", 50257);
  read.positions = config.extent("n_positions", 1024);
  read.activation = config.text("activation_function", "gelu_new");
  read.epsilon = config.number("layer_norm_epsilon", 1e-5);
  read.embedding_dropout = rate(config, "embd_pdrop");
  read.residual_dropout = rate(config, "resid_pdrop");
  read.attention_dropout = rate(config, "attn_pdrop");
  read.scale_by_head_dim = config.flag("scale_attn_weights", true);
  read.scale_by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
  read.tied = config.flag("tie_word_embeddings", true);
  const std::int64_t end_of_text = read.vocabulary > 50256 ? 50256 : -1;
  read.bos = config.id("bos_token_id", end_of_text);
  read.eos = config.id("eos_token_id", end_of_text);
  read.initial_deviation = config.number("initializer_range", 0.02);
  check(read, config);
  return read;
}

std::string Gpt2Config::to_json() const {
  using Json = nlohmann::ordered_json;
  const auto id = [](std::int64_t token) { return token < 0 ? Json(nullptr) : Json(token); };
  Json json;
  json["model_type"] = "gpt2";
  json["architectures"] = Json::array({"GPT2LMHeadModel"});
  json["n_layer"] = layers;
  json["n_head"] = heads;
  json["n_embd"] = width;
  json["n_inner"] = inner;
  json["n_positions"] = positions;
  json["vocab_size"] = vocabulary;
  json["activation_function"] = activation;
  json["layer_norm_epsilon"] = epsilon;
  json["initializer_range"] = initial_deviation;
  json["embd_pdrop"] = embedding_dropout;
  json["resid_pdrop"] = residual_dropout;
  json["attn_pdrop"] = attention_dropout;
  json["scale_attn_weights"] = scale_by_head_dim;
  json["scale_attn_by_inverse_layer_idx"] = scale_by_layer;
  json["tie_word_embeddings"] = tied;
  json["bos_token_id"] = id(bos);
  json["eos_token_id"] = id(eos);
  return json.dump(2) + "\n";
}

void check_gpt2(const Config& config) { Gpt2Config::read(config); }

std::unique_ptr<Model> make_gpt2(const Config& config, std::uint64_t seed) {
  auto model = std::make_unique<Gpt2>(Gpt2Config::read(config));
  model->initialise(seed);
  return model;
}

// The oldest files have no "transformer." before the names.
std::unique_ptr<Model> load_gpt2(const Config& config, const Weights& weights) {
  constexpr std::string_view kPrefix = "transformer.";
  auto model = std::make_unique<Gpt2>(Gpt2Config::read(config));
  const bool bare = weights.contains("wte.weight");
  for (Parameter* parameter : model->parameters()) {
    const bool strip = bare && parameter->name.starts_with(kPrefix);
    const std::string stored = strip ? parameter->name.substr(kPrefix.size()) : parameter->name;
    parameter->value = weights.load_f32(stored, parameter->value.shape());
  }
  return model;
}

}  // namespace heed
