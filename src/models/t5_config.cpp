// T5 (Raffel et al. 2020): an encoder-decoder whose only positions are a bias on scores by
// distance, with RMSNorm before each branch and no biases; T5 1.1, Flan-T5, mT5 and UMT5 with a
// gated MLP. Its `config.json` and the names of its tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/wording.h"
#include "io/tensor_files.h"
#include "models/family.h"
#include "models/seq2seq.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"
#include "models/training_config.h"

namespace heed {
namespace {

// Every distance has a bias, so the length of texts has no limit; this bounds memory.
constexpr std::int64_t kT5AnyLength = std::int64_t{1} << 20;

// Defaults of transformers by model_type.
struct T5Kin {
  std::string_view model_type;
  const char *title, *architecture;
  std::int64_t layers, heads, inner, vocabulary;
  const char* projection;
  bool scales;  // scales the states before the vocabulary layer, unless the configuration unties it
  bool own_distances = false;
};
constexpr T5Kin kT5Kin[] = {
    {"t5", "T5", "T5ForConditionalGeneration", 6, 8, 2048, 32128, "relu", true},
    {"mt5", "mT5", "MT5ForConditionalGeneration", 8, 6, 1024, 250112, "gated-gelu", false},
    {"umt5", "UMT5", "UMT5ForConditionalGeneration", 8, 6, 1024, 250112, "gated-gelu", true, true}};

constexpr Seq2seqNames kT5Names = {.shared = "shared",
                                   .encoder = "encoder.",
                                   .decoder = "decoder.",
                                   .block = "block.",
                                   .attention = "layer.0.SelfAttention.",
                                   .attention_norm = "layer.0.layer_norm",
                                   .cross = "layer.1.EncDecAttention.",
                                   .cross_norm = "layer.1.layer_norm",
                                   .q = "q",
                                   .k = "k",
                                   .v = "v",
                                   .out = "o",
                                   .encoder_mlp = "layer.1.",
                                   .decoder_mlp = "layer.2.",
                                   .mlp_norm = "layer_norm",
                                   .up = "DenseReluDense.wi",
                                   .down = "DenseReluDense.wo",
                                   .distances = "relative_attention_bias",
                                   .last_norm = "final_layer_norm"};

const T5Kin& t5_kin(const Config& config) {
  return *std::ranges::find(kT5Kin, config.text("model_type", "t5"), &T5Kin::model_type);
}

// "gated-gelu", or "relu". The gated GELU is the tanh version; `dense_act_fn`, which transformers
// derives from the other key and writes beside it, takes precedence if given.
void read_projection(const Config& config, const T5Kin& kin, Seq2seqShape& read) {
  constexpr const char* kKey = "feed_forward_proj";
  constexpr std::string_view kGated = "gated-";
  std::string name = config.text(kKey, kin.projection);
  const bool is_named_gated = name.starts_with(kGated);
  if (is_named_gated) name.erase(0, kGated.size());
  if (name.find('-') != std::string::npos)
    config.refuse(kKey, fmt::format("'{}'", name), "an activation, or gated- before one",
                  ErrorCode::kUnsupported);
  if (!config.null("is_gated_act") && config.flag("is_gated_act", is_named_gated)) {
    read.names.gate = "DenseReluDense.wi_0";
    read.names.up = "DenseReluDense.wi_1";
  }
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

// T5EncoderModel, and models that transformers builds on it.
bool is_encoder_alone(const Config& config) {
  return says(config, "EncoderModel") || says(config, "ForTokenClassification");
}

bool writes_words(const Config& config) {
  return !says(config, "ForSequenceClassification") && !says(config, "ForQuestionAnswering");
}

PositionBiasShape read_distances(const Config& config) {
  const std::int64_t buckets = config.extent("relative_attention_num_buckets", 32);
  const std::int64_t farthest = config.extent("relative_attention_max_distance", 128);
  if (buckets < 4 || buckets % 4 != 0)
    config.refuse("relative_attention_num_buckets", buckets, "a multiple of 4");
  if (farthest <= buckets / 2)
    config.refuse("relative_attention_max_distance", farthest,
                  fmt::format("above {}, half of the buckets", buckets / 2));
  return {.buckets = buckets, .farthest = farthest};
}

// The initialisation of the published models: scores are not divided by the root of the head size,
// so queries start smaller by that factor.
double t5_deviation(const Seq2seqShape& shape, double factor, std::string_view name) {
  const auto of = [&](std::int64_t fan) { return factor / std::sqrt(static_cast<double>(fan)); };
  if (name == "shared.weight") return factor;
  if (name.ends_with(".q.weight")) return of(shape.width * shape.head_dim);
  if (name.ends_with(".o.weight")) return of(shape.encoder.heads * shape.head_dim);
  if (name.ends_with(".wo.weight")) return of(shape.encoder.inner);
  return of(shape.width);
}

void read_t5_sizes(const Config& config, const T5Kin& kin, Seq2seqShape& read) {
  read.encoder = {.layers = config.extent("num_layers", kin.layers),
                  .heads = config.heads("num_heads", kin.heads),
                  .inner = config.extent("d_ff", kin.inner),
                  .vocabulary = config.extent("vocab_size", kin.vocabulary)};
  read.decoder = read.encoder;
  read.decoder.layers = config.extent("num_decoder_layers", read.encoder.layers);
  read.width = config.extent("d_model", 512);
  read.head_dim = config.extent("d_kv", 64);
  read.positions = read.rows.count = kT5AnyLength;
}

}  // namespace

Seq2seqShape read_t5(const Config& config) {
  const T5Kin& kin = t5_kin(config);
  Seq2seqShape read{.family = "t5", .title = kin.title, .names = kT5Names};
  read_t5_sizes(config, kin, read);
  read.norm = {.epsilon = config.not_negative("layer_norm_epsilon", 1e-6), .centred = false};
  read.norms_first = true;
  read.biases = false;
  read.score_scale = 1;
  read.distances = read_distances(config);
  read.own_distances = kin.own_distances;
  read.unserved = {{"dropout_rate", config.rate("dropout_rate", 0.1)}};
  read.causal = is_causal(config);
  read_projection(config, kin, read);
  read.has_decoder = !is_encoder_alone(config);
  read.has_words = read.has_decoder && writes_words(config);
  // Before version 5 of transformers one key set both; for UMT5 it sets neither.
  read.tied = config.flag("tie_word_embeddings", true);
  const bool scales = kin.own_distances || (kin.scales && !config.null("scale_decoder_outputs") &&
                                            config.flag("scale_decoder_outputs", read.tied));
  if (scales) read.head_scale = 1 / std::sqrt(static_cast<double>(read.width));
  read.deviation = [shape = read, factor = config.positive("initializer_factor", 1)](
                       std::string_view name) { return t5_deviation(shape, factor, name); };
  read.start = config.id("decoder_start_token_id", 0);
  read.eos = config.ids("eos_token_id", {1});
  read.bad_words = config.bad_words();
  read.json = config.with(Json::object());
  return read;
}

namespace {

Json t5_training_config(const TrainingShape& shape) {
  if (shape.dropout > 0 || shape.attention_dropout > 0)
    fail("train", shape.dropout > 0 ? "dropout" : "attention_dropout",
         shape.dropout > 0 ? shape.dropout : shape.attention_dropout, "0: it is not served for T5",
         ErrorCode::kUnsupported);
  if (shape.target_vocabulary > 0 && shape.target_vocabulary != shape.vocabulary)
    fail("train", "target_tokenizer",
         fmt::format("of {}", number_of(shape.target_vocabulary, "token")),
         "none: T5 has one vocabulary for both sides");
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
          {"initializer_factor", 0.05},  // 1 suits the optimiser of the published models
          {"decoder_start_token_id", shape.start_token},
          {"pad_token_id", shape.pad_token},
          {"eos_token_id", json_of_ids(shape.end_tokens)}};
}

constexpr const char* kWords = "shared.weight";
constexpr const char* kCopies[] = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};

// How the file spells the parameters. Like transformers: if the file contradicts the configuration,
// the file counts.
Spelling t5_spelling(Seq2seqShape& read, const Config& config, const Weights& weights,
                     const Reading& reading) {
  Spelling spelling = {
      .wrappers = {"transformer."},
      .otherwise = {{kWords, kCopies[0]}, {kWords, kCopies[1]}},
      // Copies of the embeddings, and a bias that the first files have in the cross-attention.
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
  Seq2seqShape read = read_t5(config);
  const StoredWeights stored(weights, t5_spelling(read, config, weights, reading));
  if (!reading.headers_only)
    for (const char* copy : kCopies) stored.require_copy(copy, kWords);
  stored.require(kWords, {read.encoder.vocabulary, read.width});
  stored.require(
      fmt::format("encoder.block.{}.layer.0.SelfAttention.q.weight", read.encoder.layers - 1),
      {read.encoder.heads * read.head_dim, read.width});
  if (read.has_decoder)
    stored.require(
        fmt::format("decoder.block.{}.layer.2.DenseReluDense.wo.weight", read.decoder.layers - 1),
        {read.width, read.decoder.inner});
  auto model = empty_seq2seq(std::move(read));
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family t5_family() {
  return {.model_types = {"t5", "mt5", "umt5"},
          .describe = [](const Config& config) { return read_t5(config).info(); },
          .make = [](const Config& config,
                     std::uint64_t seed) { return make_seq2seq(read_t5(config), seed); },
          .load = load_t5,
          .training_config = t5_training_config,
          .kind = FamilyKind::kTranslator};
}

}  // namespace heed
