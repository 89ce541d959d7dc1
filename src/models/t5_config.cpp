// T5's `config.json` and the names of its tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_of.h"
#include "models/family.h"
#include "models/stored_weights.h"
#include "models/t5.h"
#include "models/text_pass.h"

namespace heed {
namespace {

// Distances have a bias whatever their size, so texts have no longest; this bounds memory.
constexpr std::int64_t kT5AnyLength = std::int64_t{1} << 20;

// Defaults of transformers by model_type.
struct T5Kin {
  std::string_view model_type;
  const char *title, *architecture;
  std::int64_t layers, heads, inner, vocabulary;
  const char* projection;
  bool scales;  // states before the words, unless the configuration says that those are untied
};
constexpr T5Kin kT5Kin[] = {
    {"t5", "T5", "T5ForConditionalGeneration", 6, 8, 2048, 32128, "relu", true},
    {"mt5", "mT5", "MT5ForConditionalGeneration", 8, 6, 1024, 250112, "gated-gelu", false}};

const T5Kin& t5_kin(const Config& config) {
  return *std::ranges::find(kT5Kin, config.text("model_type", "t5"), &T5Kin::model_type);
}

// "gated-gelu", or "relu". The gated GELU is the one with tanh; `dense_act_fn`, which transformers
// derives from the other and writes beside it, counts where it is given.
void read_projection(const Config& config, const T5Kin& kin, T5Config& read) {
  constexpr const char* kKey = "feed_forward_proj";
  constexpr std::string_view kGated = "gated-";
  std::string name = config.text(kKey, kin.projection);
  read.gated = name.starts_with(kGated);
  if (read.gated) name.erase(0, kGated.size());
  if (name.find('-') != std::string::npos)
    config.refuse(kKey, fmt::format("'{}'", name), "an activation, or gated- before one",
                  ErrorCode::kUnsupported);
  read.gated = !config.null("is_gated_act") && config.flag("is_gated_act", read.gated);
  if (config.has("dense_act_fn"))
    read.activation = config.activation("dense_act_fn", "");
  else if (config.text(kKey, kin.projection) == "gated-gelu")
    read.activation = Activation::kGeluTanh;
  else
    read.activation = config.activation_of(kKey, name);
}

bool says(const Config& config, std::string_view ending) {
  const std::vector<std::string> said = config.texts("architectures");
  return !said.empty() && said[0].ends_with(ending);
}

// T5EncoderModel, and what transformers builds on it.
bool is_encoder_alone(const Config& config) {
  return says(config, "EncoderModel") || says(config, "ForTokenClassification");
}

bool writes_words(const Config& config) {
  return !says(config, "ForSequenceClassification") && !says(config, "ForQuestionAnswering");
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
  const T5Kin& kin = t5_kin(config);
  T5Config read;
  read.title = kin.title;
  read.layers = config.extent("num_layers", kin.layers);
  read.decoder_layers = config.extent("num_decoder_layers", read.layers);
  read.heads = config.extent("num_heads", kin.heads);
  read.width = config.extent("d_model", 512);
  read.head_dim = config.extent("d_kv", 64);
  read.inner = config.extent("d_ff", kin.inner);
  read.vocabulary = config.extent("vocab_size", kin.vocabulary);
  read.buckets = config.extent("relative_attention_num_buckets", 32);
  read.farthest = config.extent("relative_attention_max_distance", 128);
  check_buckets(read, config);
  read.epsilon = config.not_negative("layer_norm_epsilon", 1e-6);
  read.dropout = config.rate("dropout_rate", 0.1);
  read.initial_factor = config.positive("initializer_factor", 1);
  read.causal = is_causal(config);
  read_projection(config, kin, read);
  read.has_decoder = !is_encoder_alone(config);
  read.has_words = read.has_decoder && writes_words(config);
  // Until version 5 of transformers, one key told both.
  read.tied = config.flag("tie_word_embeddings", true);
  read.scaled_head = kin.scales && !config.null("scale_decoder_outputs") &&
                     config.flag("scale_decoder_outputs", read.tied);
  read.start = config.id("decoder_start_token_id", 0);
  read.eos = config.ids("eos_token_id", {1});
  read.bad_words = config.bad_words();
  read.json = config.with(Json::object());
  return read;
}

ModelInfo T5Config::info() const {
  const auto shape = [&](Stack stack, bool in_order, std::int64_t count) {
    return stack_shape(stack, in_order, {count, heads, heads, head_dim});
  };
  ModelInfo info{.family = "t5",
                 .title = title,
                 .layers = layers,
                 .heads = heads,
                 .kv_heads = heads,
                 .width = width,
                 .head_dim = head_dim,
                 .vocabulary = vocabulary,
                 .positions = kT5AnyLength,
                 .first_token = start,
                 .end_tokens = eos,
                 .bad_words = bad_words,
                 .causal = false,
                 .has_logits = has_words};
  if (!has_decoder) {
    info.stacks = {shape(Stack::kSelf, /*causal=*/false, layers)};
    return info;
  }
  info.stacks = {shape(Stack::kEncoder, /*causal=*/false, layers),
                 shape(Stack::kDecoder, causal, decoder_layers),
                 shape(Stack::kCross, /*causal=*/false, decoder_layers)};
  info.source_positions = kT5AnyLength;
  info.source_vocabulary = vocabulary;
  return info;
}

namespace {

Json t5_training_config(const TrainingShape& shape) {
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
  const T5Kin& kin = *std::ranges::find(kT5Kin, shape.model_type, &T5Kin::model_type);
  return {{"model_type", shape.model_type},
          {"architectures", Json::array({kin.architecture})},
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

ModelInfo describe_t5(const Config& config) { return T5Config::read(config).info(); }

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

std::unique_ptr<Model> make_t5(const Config& config, std::uint64_t seed) {
  const T5Config read = T5Config::read(config);
  auto model = std::make_unique<T5>(read);
  initialise(model->parameters(), {.seed = seed, .deviation = [&](std::string_view name) {
                                     return deviation_of(read, name);
                                   }});
  return model;
}

constexpr const char* kWords = "shared.weight";
constexpr const char* kCopies[] = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};

// How the file calls the parameters. Like transformers: what the file holds counts where it
// contradicts the configuration.
Spelling spelling_of(T5Config& read, const Config& config, const Weights& weights,
                     const Reading& reading) {
  Spelling spelling = {
      .wrappers = {"transformer."},
      .otherwise = {{kWords, kCopies[0]}, {kWords, kCopies[1]}},
      // Copies of the words, and a bias that the first files have in the cross-attention.
      .unused = {"embed_tokens.weight",
                 "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"}};
  const StoredWeights stored(weights, spelling);
  if (config.texts("architectures").empty() && !stored.holds("decoder.final_layer_norm.weight"))
    read.has_decoder = read.has_words = false;
  if (!read.has_decoder) spelling.unused.emplace_back("decoder.");
  read.tied = !stored.holds("lm_head.weight") || reading.headers_only ||
              !stored.differ("lm_head.weight", kWords);
  if (read.tied || !read.has_words) spelling.unused.emplace_back("lm_head.weight");
  if (read.tied) spelling.otherwise.emplace_back(kWords, "lm_head.weight");
  return spelling;
}

std::unique_ptr<Model> load_t5(const Config& config, const Weights& weights,
                               const Reading& reading) {
  T5Config read = T5Config::read(config);
  const StoredWeights stored(weights, spelling_of(read, config, weights, reading));
  if (!reading.headers_only)
    for (const char* copy : kCopies) stored.require_copy(copy, kWords);
  stored.require(kWords, {read.vocabulary, read.width});
  stored.require(fmt::format("encoder.block.{}.layer.0.SelfAttention.q.weight", read.layers - 1),
                 {read.heads * read.head_dim, read.width});
  if (read.has_decoder)
    stored.require(
        fmt::format("decoder.block.{}.layer.2.DenseReluDense.wo.weight", read.decoder_layers - 1),
        {read.width, read.inner});
  auto model = std::make_unique<T5>(read);
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family t5_family() {
  return {{"t5", "mt5"}, describe_t5,        make_t5,
          load_t5,       t5_training_config, FamilyKind::kTranslator};
}

}  // namespace heed
