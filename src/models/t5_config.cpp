// T5's `config.json` and the names of its tensors.
#include <fmt/format.h>

#include <cmath>

#include "base/number_of.h"
#include "models/family.h"
#include "models/initial_parameters.h"
#include "models/stored_weights.h"
#include "models/t5.h"
#include "models/text_pass.h"

namespace heed {
namespace {

// Distances have a bias whatever their size, so texts have no longest; this bounds memory.
constexpr std::int64_t kAnyLength = std::int64_t{1} << 20;

Activation activation_of(const Config& config, const std::string& name) {
  if (name == "relu") return Activation::kRelu;
  if (name == "gelu") return Activation::kGeluTanh;  // T5's gated one is gelu_new
  if (name == "gelu_new") return Activation::kGeluTanh;
  if (name == "silu") return Activation::kSilu;
  config.refuse("feed_forward_proj", fmt::format("'{}'", name), "relu, gated-gelu or gated-silu",
                ErrorCode::kUnsupported);
}

void check_buckets(const T5Config& read, const Config& config) {
  if (read.buckets < 4 || read.buckets % 4 != 0)
    config.refuse("relative_attention_num_buckets", read.buckets, "a multiple of 4");
  if (read.farthest <= read.buckets / 2)
    config.refuse("relative_attention_max_distance", read.farthest,
                  fmt::format("above {}, half of the buckets", read.buckets / 2));
}

}  // namespace

T5Config T5Config::read(const Config& config) {
  T5Config read;
  read.layers = config.extent("num_layers", 6);
  read.decoder_layers = config.extent("num_decoder_layers", read.layers);
  read.heads = config.extent("num_heads", 8);
  read.width = config.extent("d_model", 512);
  read.head_dim = config.extent("d_kv", 64);
  read.inner = config.extent("d_ff", 2048);
  read.vocabulary = config.extent("vocab_size", 32128);
  read.buckets = config.extent("relative_attention_num_buckets", 32);
  read.farthest = config.extent("relative_attention_max_distance", 128);
  check_buckets(read, config);
  read.epsilon = config.not_negative("layer_norm_epsilon", 1e-6);
  read.dropout = config.rate("dropout_rate", 0.1);
  read.initial_factor = config.positive("initializer_factor", 1);
  std::string projection = config.text("feed_forward_proj", "relu");
  read.gated = projection.starts_with("gated-");
  if (read.gated) projection = projection.substr(std::string_view("gated-").size());
  read.activation = activation_of(config, projection);
  // Until version 5 of transformers, one key told both.
  read.tied = config.flag("tie_word_embeddings", true);
  read.scaled_head = config.flag("scale_decoder_outputs", read.tied);
  read.start = config.id("decoder_start_token_id", 0);
  read.eos = config.ids("eos_token_id", {1});
  read.bad_words = config.bad_words();
  read.json = config.with(Json::object());
  return read;
}

ModelInfo T5Config::info() const {
  const auto shape = [&](Stack stack, bool causal, std::int64_t count) {
    return stack_shape(stack, causal, {count, heads, heads, head_dim});
  };
  return {.family = "t5",
          .title = "T5",
          .layers = layers,
          .heads = heads,
          .kv_heads = heads,
          .width = width,
          .head_dim = head_dim,
          .vocabulary = vocabulary,
          .positions = kAnyLength,
          .first_token = start,
          .end_tokens = eos,
          .bad_words = bad_words,
          .causal = false,
          .stacks = {shape(Stack::kEncoder, /*causal=*/false, layers),
                     shape(Stack::kDecoder, /*causal=*/true, decoder_layers),
                     shape(Stack::kCross, /*causal=*/false, decoder_layers)},
          .source_positions = kAnyLength,
          .source_vocabulary = vocabulary};
}

namespace {

Json training_config(const TrainingShape& shape) {
  if (shape.dropout > 0 || shape.attention_dropout > 0)
    fail({.code = ErrorCode::kUnsupported,
          .op = "train",
          .argument = shape.dropout > 0 ? "dropout" : "attention_dropout",
          .found = shape.dropout > 0 ? shape.dropout : shape.attention_dropout,
          .expected = "0: it is not served for T5"});
  if (shape.target_vocabulary > 0 && shape.target_vocabulary != shape.vocabulary)
    fail({.op = "train",
          .argument = "target_tokenizer",
          .found = fmt::format("of {}", number_of(shape.target_vocabulary, "token")),
          .expected = "none: T5 has one vocabulary for both sides"});
  return {{"model_type", "t5"},
          {"architectures", Json::array({"T5ForConditionalGeneration"})},
          {"vocab_size", shape.vocabulary},
          {"d_model", shape.width},
          {"d_kv", shape.width / shape.heads},
          {"d_ff", 4 * shape.width},
          {"num_layers", shape.layers},
          {"num_heads", shape.heads},
          {"dropout_rate", 0.0},
          {"initializer_factor", 0.05},  // 1 is for the optimiser that the published ones had
          {"decoder_start_token_id", shape.start_token},
          {"pad_token_id", shape.pad_token},
          {"eos_token_id", json_of_ids(shape.end_tokens)}};
}

ModelInfo describe(const Config& config) { return T5Config::read(config).info(); }

// As the published models began: scores are not divided by the root of the head size, so queries
// begin that much smaller.
double deviation_of(const T5Config& config, std::string_view name) {
  const auto of = [&](std::int64_t fan) {
    return config.initial_factor / std::sqrt(static_cast<double>(fan));
  };
  if (name == "shared.weight") return config.initial_factor;
  if (name.ends_with(".q.weight")) return of(config.width * config.head_dim);
  if (name.ends_with(".o.weight")) return of(config.heads * config.head_dim);
  if (name.ends_with(".wo.weight")) return of(config.inner);
  return of(config.width);
}

std::unique_ptr<Model> make(const Config& config, std::uint64_t seed) {
  const T5Config read = T5Config::read(config);
  auto model = std::make_unique<T5>(read);
  initialise(model->parameters(), {.seed = seed, .deviation = [&](std::string_view name) {
                                     return deviation_of(read, name);
                                   }});
  return model;
}

std::unique_ptr<Model> load(const Config& config, const Weights& weights, const Reading& reading) {
  T5Config read = T5Config::read(config);
  read.tied = read.scaled_head || !StoredWeights(weights, {}).holds("lm_head.weight");
  Spelling spelling = {
      .otherwise = {{"shared.weight", "encoder.embed_tokens.weight"}},
      // Copies of the words, and a bias that the first files have in the cross-attention.
      .unused = {"embed_tokens.weight",
                 "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"}};
  if (read.tied) spelling.unused.emplace_back("lm_head.weight");
  const StoredWeights stored(weights, spelling);
  const std::int64_t all = read.heads * read.head_dim;
  if (read.tied && !reading.headers_only) stored.require_copy("lm_head.weight", "shared.weight");
  stored.require("shared.weight", {read.vocabulary, read.width});
  stored.require(fmt::format("encoder.block.{}.layer.0.SelfAttention.q.weight", read.layers - 1),
                 {all, read.width});
  stored.require(
      fmt::format("decoder.block.{}.layer.2.DenseReluDense.wo.weight", read.decoder_layers - 1),
      {read.width, read.inner});
  auto model = std::make_unique<T5>(read);
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family t5_family() {
  return {{"t5"}, describe, make, load, training_config, FamilyKind::kTranslator};
}

}  // namespace heed
