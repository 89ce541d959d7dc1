// Reads the `config.json` of encoders, and the names of their tensors.
#include <fmt/format.h>

#include <algorithm>

#include "io/tensor_files.h"
#include "models/classifier.h"
#include "models/encoder.h"
#include "models/family.h"
#include "models/parts.h"
#include "models/stored_weights.h"
#include "models/training_config.h"

namespace heed {
namespace {

constexpr std::int64_t kMostEncoderLayers = 10000;  // each has an entry

const EncoderKin& encoder_kin(std::string_view model_type) {
  return *std::ranges::find(all_encoder_kin(), model_type, &EncoderKin::model_type);
}

const EncoderKin& encoder_kin(const Config& config) {
  return encoder_kin(config.text("model_type", "bert"));
}

void check(const EncoderShape& read, const Config& config, const EncoderKin& kin) {
  if (read.width % read.heads != 0)
    config.refuse(kin.width_key, read.width,
                  fmt::format("a multiple of {} ({})", kin.heads_key, read.heads));
  if (read.positions <= 0)
    config.refuse("max_position_embeddings", read.positions + read.rows.first,
                  fmt::format("above {}, the first token's position", read.rows.first));
  if (const std::string kind = config.text("position_embedding_type", "absolute");
      kind != "absolute")
    config.refuse("position_embedding_type", fmt::format("'{}'", kind), "absolute",
                  ErrorCode::kUnsupported);
  if (config.flag("is_decoder", false))
    config.refuse("is_decoder", "true", "false: this family is an encoder alone",
                  ErrorCode::kUnsupported);
}

void name_layers(EncoderShape& shape) {
  for (std::size_t layer = 0; layer < shape.of_layers.size(); ++layer)
    shape.of_layers[layer].name =
        fmt::format("{}{}{}.", shape.names.stem, shape.names.layer, layer);
}

void read_encoder_sizes(const Config& config, const EncoderKin& kin, EncoderShape& read) {
  read.of_layers.resize(
      static_cast<std::size_t>(config.extent(kin.layers_key, kin.layers, 1, kMostEncoderLayers)));
  name_layers(read);
  read.heads = config.heads(kin.heads_key, kin.heads);
  read.width = config.extent(kin.width_key, kin.width);
  read.head_dim = std::max<std::int64_t>(read.width / read.heads, 1);
  read.inner = config.extent(kin.inner_key, kin.inner);
  read.vocabulary = config.extent("vocab_size", kin.vocabulary);
  read.types = kin.types_key == nullptr ? kin.types : config.extent(kin.types_key, kin.types);
  read.embedded = kin.embedded_key == nullptr ? read.width : config.extent(kin.embedded_key, 128);
}

void read_rows(const Config& config, const EncoderKin& kin, EncoderShape& read) {
  const std::int64_t said = config.null("pad_token_id") ? 0 : config.own_id("pad_token_id", 1);
  const std::int64_t pad = kin.padding < 0 ? said : kin.padding;
  read.rows.pad = kin.counts_past_padding ? pad : -1;  // a negative one means no padding
  read.rows.first = read.rows.pad + 1;
  read.positions = config.extent("max_position_embeddings", kin.positions) - read.rows.first;
  read.rows.count = read.positions;
}

EncoderShape read_encoder(const Config& config) {
  const EncoderKin& kin = encoder_kin(config);
  EncoderShape read{.title = kin.title, .names = kin.names};
  read_encoder_sizes(config, kin, read);
  read_rows(config, kin, read);
  read.norm.epsilon =
      kin.epsilon_key == nullptr ? kin.epsilon : config.not_negative(kin.epsilon_key, kin.epsilon);
  read.embedding_dropout = read.dropout = config.rate(kin.dropout_key, kin.dropout);
  read.attention_dropout = config.rate(kin.attention_dropout_key, kin.dropout);
  read.deviation = config.number("initializer_range", 0.02);
  read.activation = config.activation(kin.activation_key, kin.activation);
  read.head_activation = read.activation;
  read.tied = config.flag("tie_word_embeddings", true);
  read.json = config.with(Json::object());
  if (kin.more != nullptr) kin.more(config, read);
  check(read, config, kin);
  return read;
}

// Other spellings of the parameters in files.
Spelling encoder_spelling(const EncoderShape& read) {
  const EncoderNames& names = read.names;
  const std::string bias = names.head_bias, decoder = names.decoder;
  Spelling spelling = {.prefix = names.stem,
                       .endings = {{".LayerNorm.weight", ".LayerNorm.gamma"},
                                   {".LayerNorm.bias", ".LayerNorm.beta"}},
                       .unused = {"pooler.", "discriminator_predictions."}};
  const bool has_bias = is_given(names.head_bias);
  if (has_bias) spelling.otherwise = {{bias, decoder + ".bias"}, {decoder + ".bias", bias}};
  if (read.tied) {
    spelling.otherwise.emplace_back(names.stem + std::string(names.words) + ".weight",
                                    decoder + ".weight");
    spelling.unused.emplace_back(names.decoder);
  } else if (has_bias) {
    spelling.unused.emplace_back(names.head_bias);
  }
  if (!read.masked_token_head)
    for (const char* part : {names.transform, names.transform_norm, names.decoder, names.head_bias})
      if (is_given(part)) spelling.unused.emplace_back(part);
  return spelling;
}

Json encoder_training_config(const TrainingShape& shape) {
  const EncoderKin& kin = encoder_kin(shape.model_type);
  Json json = {
      {"model_type", shape.model_type}, {"architectures", Json::array({kin.architecture})},
      {"vocab_size", shape.vocabulary}, {kin.layers_key, shape.layers},
      {kin.heads_key, shape.heads},     {kin.width_key, shape.width},
      {kin.inner_key, 4 * shape.width}, {kin.activation_key, kin.activation},
      {kin.dropout_key, shape.dropout}, {kin.attention_dropout_key, shape.attention_dropout}};
  const std::int64_t pad = std::max<std::int64_t>(shape.pad_token, 0);
  json.set(kin.epsilon_key == nullptr ? "layer_norm_eps" : kin.epsilon_key, kin.epsilon);
  json.set("pad_token_id", pad);
  const std::int64_t first = (kin.padding < 0 ? pad : kin.padding) + 1;
  json.set("max_position_embeddings", shape.positions + (kin.counts_past_padding ? first : 0));
  if (kin.types_key != nullptr) json.set(kin.types_key, kin.counts_past_padding ? 1 : 2);
  if (kin.embedded_key != nullptr) json.set(kin.embedded_key, shape.width);
  return json;
}

std::unique_ptr<Model> make_encoder(const Config& config, std::uint64_t seed) {
  EncoderShape read = read_encoder(config);
  read.masked_token_head = !classifier_config(config);
  const double deviation = read.deviation;
  auto model = empty_encoder(std::move(read));
  initialise(model->parameters(),
             {.seed = seed, .deviation = [=](std::string_view) { return deviation; }});
  return model;
}

// Like transformers: if the file contradicts the configuration, the file counts.
void untie_if_different(EncoderShape& read, const Config& config, const Weights& weights,
                        const Reading& reading) {
  if (!read.tied || reading.headers_only) return;
  const EncoderNames& names = read.names;
  const StoredWeights stored(weights, encoder_spelling(read));
  const std::string decoder = names.decoder;
  read.tied =
      !stored.differ(decoder + ".weight", names.stem + std::string(names.words) + ".weight") &&
      (!is_given(names.head_bias) || !stored.differ(decoder + ".bias", names.head_bias));
  if (!read.tied) read.json = config.with({{"tie_word_embeddings", false}});
}

// A head for another task may have parts with the names of the masked-token head.
bool has_another_head(const Config& config) {
  const std::vector<std::string> said = config.texts("architectures");
  const auto ends = [&](std::string_view task) { return said[0].ends_with(task); };
  return !said.empty() &&
         (ends("Classification") || ends("QuestionAnswering") || ends("MultipleChoice"));
}

void require_encoder_sizes(const EncoderShape& read, const StoredWeights& stored) {
  const EncoderNames& names = read.names;
  const std::string stem = names.stem;
  const auto require_rows = [&](const char* name, std::int64_t rows) {
    if (is_given(name)) stored.require(stem + name + ".weight", {rows, read.embedded});
  };
  require_rows(names.words, read.vocabulary);
  require_rows(names.positions, read.rows.first + read.positions);
  if (read.types > 0) require_rows(names.types, read.types);
  stored.require(read.of_layers.back().name + names.down + ".weight", {read.width, read.inner});
}

std::unique_ptr<Model> load_encoder(const Config& config, const Weights& weights,
                                    const Reading& reading) {
  EncoderShape read = read_encoder(config);
  read.masked_token_head =
      !has_another_head(config) && StoredWeights(weights, encoder_spelling(read))
                                       .holds(std::string(read.names.transform) + ".weight");
  if (read.masked_token_head) untie_if_different(read, config, weights, reading);
  const StoredWeights stored(weights, encoder_spelling(read));
  require_encoder_sizes(read, stored);
  auto model = empty_encoder(std::move(read));
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family encoder_family() {
  Family family = {.model_types = {},
                   .describe = [](const Config& config) { return read_encoder(config).info(); },
                   .make = make_encoder,
                   .load = load_encoder,
                   .training_config = encoder_training_config,
                   .kind = FamilyKind::kEncoder};
  for (const EncoderKin& kin : all_encoder_kin()) family.model_types.push_back(kin.model_type);
  return family;
}

}  // namespace heed
