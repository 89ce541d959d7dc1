// GPT-2's `config.json` and the names of its tensors.
#include <fmt/format.h>

#include <utility>

#include "base/formats/json.h"
#include "models/classifier.h"
#include "models/family.h"
#include "models/gpt2.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"

namespace heed {
namespace {

void check(const Gpt2Config& read, const Config& config) {
  if (read.width % read.heads != 0)
    config.refuse("n_embd", read.width, fmt::format("a multiple of n_head ({})", read.heads));
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
  read.activation = config.activation("activation_function", "gelu_new");
  read.activation_name = config.text("activation_function", "gelu_new");
  read.epsilon = config.not_negative("layer_norm_epsilon", 1e-5);
  read.embedding_dropout = config.rate("embd_pdrop", 0.1);  // transformers' defaults
  read.residual_dropout = config.rate("resid_pdrop", 0.1);
  read.attention_dropout = config.rate("attn_pdrop", 0.1);
  read.scale_by_head_dim = config.flag("scale_attn_weights", true);
  read.scale_by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
  read.causal = is_causal(config);
  read.tied = config.flag("tie_word_embeddings", true) || classifier_config(config).has_value();
  const std::int64_t end_of_text = read.vocabulary > 50256 ? 50256 : -1;
  read.bos = config.id("bos_token_id", end_of_text);
  read.eos = config.ids("eos_token_id",
                        end_of_text < 0 ? std::vector<std::int64_t>() : std::vector{end_of_text});
  read.bad_words = config.bad_words();
  read.initial_deviation = config.number("initializer_range", 0.02);
  check(read, config);
  return read;
}

ModelInfo Gpt2Config::info() const {
  return {.family = "gpt2",
          .title = "GPT-2",
          .layers = layers,
          .heads = heads,
          .kv_heads = heads,
          .width = width,
          .head_dim = width / heads,
          .vocabulary = vocabulary,
          .positions = positions,
          .first_token = bos,
          .end_tokens = eos,
          .bad_words = bad_words,
          .causal = causal,
          .stacks = {stack_shape(Stack::kSelf, causal, {layers, heads, heads, width / heads})}};
}

std::string Gpt2Config::to_json() const {
  std::vector<std::int64_t> begin;
  if (bos >= 0) begin = {bos};
  Json json = {{"model_type", "gpt2"},
               {"architectures", Json::array({"GPT2LMHeadModel"})},
               {"n_layer", layers},
               {"n_head", heads},
               {"n_embd", width},
               {"n_inner", inner},
               {"n_positions", positions},
               {"vocab_size", vocabulary},
               {"activation_function", activation_name},
               {"layer_norm_epsilon", epsilon},
               {"initializer_range", initial_deviation},
               {"embd_pdrop", embedding_dropout},
               {"resid_pdrop", residual_dropout},
               {"attn_pdrop", attention_dropout},
               {"scale_attn_weights", scale_by_head_dim},
               {"scale_attn_by_inverse_layer_idx", scale_by_layer},
               {"tie_word_embeddings", tied},
               {"bos_token_id", json_of_ids(begin)},
               {"eos_token_id", json_of_ids(eos)}};
  if (!causal) json.set("is_causal", false);
  if (!bad_words.empty()) {
    Json words = Json::array();
    for (const std::vector<std::int64_t>& word : bad_words) words.push(Json(word));
    json.set("bad_words_ids", std::move(words));
  }
  return json.dump(2) + "\n";
}

namespace {

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

ModelInfo describe_gpt2(const Config& config) { return Gpt2Config::read(config).info(); }

std::unique_ptr<Model> make_gpt2(const Config& config, std::uint64_t seed) {
  auto model = std::make_unique<Gpt2>(Gpt2Config::read(config));
  model->initialise(seed);
  return model;
}

std::unique_ptr<Model> load_gpt2(const Config& config, const Weights& weights,
                                 const Reading& reading) {
  constexpr const char* kWords = "transformer.wte.weight";
  Gpt2Config read = Gpt2Config::read(config);
  // As transformers: what the file holds counts where it contradicts the configuration.
  if (!reading.headers_only && !classifier_config(config) &&
      StoredWeights(weights, {.prefix = "transformer."}).differ("lm_head.weight", kWords))
    read.tied = false;
  const StoredWeights stored(
      weights, {.prefix = "transformer.",
                .otherwise = {{kWords, read.tied ? "lm_head.weight" : kWords}},
                .unused = {".attn.bias", read.tied ? "lm_head.weight" : ".attn.bias"}});
  const std::string last = fmt::format("transformer.h.{}.", read.layers - 1);
  stored.require(kWords, {read.vocabulary, read.width});
  stored.require("transformer.wpe.weight", {read.positions, read.width});
  stored.require(last + "mlp.c_fc.weight", {read.width, read.inner});
  auto model = std::make_unique<Gpt2>(read);
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family gpt2_family() {
  return {{"gpt2"}, describe_gpt2, make_gpt2, load_gpt2, gpt2_training_config};
}

}  // namespace heed
