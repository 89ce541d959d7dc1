// GPT-2's `config.json` and the names of its tensors.
#include <fmt/format.h>

#include "base/json.h"
#include "models/gpt2.h"

namespace heed {
namespace {

double rate(const Config& config, const char* key) {
  const double value = config.number(key, 0.1);  // transformers' default
  if (!(value >= 0 && value < 1)) config.refuse(key, value, "0 or more and below 1");
  return value;
}

void check(const Gpt2Config& read, const Config& config) {
  if (read.width % read.heads != 0)
    config.refuse("n_embd", read.width, fmt::format("a multiple of n_head ({})", read.heads));
  if (read.activation != "gelu" && read.activation != "gelu_new" &&
      read.activation != "gelu_pytorch_tanh")
    config.refuse("activation_function", fmt::format("'{}'", read.activation),
                  "gelu_new, gelu or gelu_pytorch_tanh", ErrorCode::kUnsupported);
  if (!(read.initial_deviation >= 0 && read.initial_deviation <= 1))
    config.refuse("initializer_range", read.initial_deviation, "0 to 1");
  if (config.flag("add_cross_attention", false))
    config.refuse("add_cross_attention", "true", "false: this family is a decoder alone",
                  ErrorCode::kUnsupported);
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
  const auto id = [](std::int64_t token) { return token < 0 ? Json() : Json(token); };
  const Json json = {{"model_type", "gpt2"},
                     {"architectures", Json::array({"GPT2LMHeadModel"})},
                     {"n_layer", layers},
                     {"n_head", heads},
                     {"n_embd", width},
                     {"n_inner", inner},
                     {"n_positions", positions},
                     {"vocab_size", vocabulary},
                     {"activation_function", activation},
                     {"layer_norm_epsilon", epsilon},
                     {"initializer_range", initial_deviation},
                     {"embd_pdrop", embedding_dropout},
                     {"resid_pdrop", residual_dropout},
                     {"attn_pdrop", attention_dropout},
                     {"scale_attn_weights", scale_by_head_dim},
                     {"scale_attn_by_inverse_layer_idx", scale_by_layer},
                     {"tie_word_embeddings", tied},
                     {"bos_token_id", id(bos)},
                     {"eos_token_id", id(eos)}};
  return json.dump(2) + "\n";
}

void check_gpt2(const Config& config) { Gpt2Config::read(config); }

std::unique_ptr<Model> make_gpt2(const Config& config, std::uint64_t seed) {
  auto model = std::make_unique<Gpt2>(Gpt2Config::read(config));
  model->initialise(seed);
  return model;
}

namespace {

// A config may promise any number of layers of any width: before memory is taken for them, the file
// must hold as many and as large ones.
void check_extents(const Gpt2Config& config, const Weights& weights, const std::string& prefix) {
  const auto check = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    if (weights.tensor(prefix + name).element_count() != rows * columns)
      weights.load_f32(prefix + name, {rows, columns});  // fails: the shapes differ
  };
  check("wte.weight", config.vocabulary, config.width);
  check("wpe.weight", config.positions, config.width);
  check("h.0.mlp.c_fc.weight", config.width, config.inner);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    weights.tensor(fmt::format("{}h.{}.ln_1.weight", prefix, layer));
}

}  // namespace

std::unique_ptr<Model> load_gpt2(const Config& config, const Weights& weights) {
  constexpr std::string_view kPrefix = "transformer.";  // the oldest files do without
  const bool bare = weights.contains("wte.weight");
  const Gpt2Config read = Gpt2Config::read(config);
  check_extents(read, weights, bare ? "" : std::string(kPrefix));
  auto model = std::make_unique<Gpt2>(read);
  for (Parameter* parameter : model->parameters()) {
    const bool strip = bare && parameter->name.starts_with(kPrefix);
    const std::string stored = strip ? parameter->name.substr(kPrefix.size()) : parameter->name;
    parameter->value = weights.load_f32(stored, parameter->value.shape());
  }
  return model;
}

}  // namespace heed
