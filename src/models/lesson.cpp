// A decoder with optional parts: the models on the way to GPT in Karpathy's "Let's build GPT"
// (2023). examples/lessons/ and docs/lessons.md follow them. Only heed reads its `config.json`.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "models/decoder.h"
#include "models/parts.h"
#include "models/training_config.h"

namespace heed {
namespace {

constexpr DecoderNames kLessonParts = {.prefix = "",
                                       .tokens = "token_embedding_table",
                                       .block = "blocks.",
                                       .attention_norm = "",
                                       .q = "sa.query",
                                       .k = "sa.key",
                                       .v = "sa.value",
                                       .out = "sa.proj",
                                       .mlp_norm = "",
                                       .gate = "",
                                       .up = "ffwd.up",
                                       .down = "ffwd.down",
                                       .last_norm = ""};

Json json_of(const DecoderShape& shape, bool norm) {
  return {{"model_type", "lesson"},
          {"architectures", Json::array({"LessonLMHeadModel"})},
          {"n_layer", shape.layers},
          {"n_head", shape.heads},
          {"n_embd", shape.width},
          {"n_inner", shape.inner},
          {"n_positions", shape.positions},
          {"vocab_size", shape.vocabulary},
          {"position_embedding", is_given(shape.names.positions)},
          {"residual", shape.residual},
          {"norm", norm},
          {"lm_head", shape.has_words},
          {"dropout", shape.dropout},
          {"attention_dropout", shape.attention_dropout},
          {"initializer_range", shape.deviation},
          {"eos_token_id", json_of_ids(shape.eos)}};
}

DecoderShape read_lesson(const Config& config) {
  DecoderShape shape{.family = "lesson", .title = "Lesson", .names = kLessonParts};
  shape.layers = config.extent("n_layer", 1, /*least=*/0);
  if (shape.layers == 0) shape.title = "Bigram";
  shape.heads = shape.kv_heads = config.extent("n_head", 1);
  shape.width = config.extent("n_embd", 32);
  shape.head_dim = shape.width / shape.heads;
  shape.inner = config.extent("n_inner", 4 * shape.width, /*least=*/0);
  shape.vocabulary = config.extent("vocab_size", 65);
  shape.positions = config.extent("n_positions", 8);
  if (config.flag("position_embedding", true)) shape.names.positions = "position_embedding_table";
  shape.residual = config.flag("residual", true);
  const bool norm = config.flag("norm", true);
  if (norm) {
    shape.names.attention_norm = "ln1";
    shape.names.mlp_norm = "ln2";
    shape.names.last_norm = "ln_f";
  }
  shape.has_words = shape.head_bias = config.flag("lm_head", true);
  shape.states_are_logits = !shape.has_words;
  shape.out_bias = shape.mlp_bias = true;
  shape.activation = Activation::kRelu;
  shape.dropout = config.rate("dropout", 0);
  shape.attention_dropout = config.rate("attention_dropout", 0);
  shape.deviation = config.not_negative("initializer_range", 0.02);
  shape.eos = config.ids("eos_token_id", {});
  if (shape.width % shape.heads != 0)
    config.refuse("n_embd", shape.width, fmt::format("a multiple of n_head ({})", shape.heads));
  if (shape.states_are_logits && shape.width != shape.vocabulary)
    config.refuse("n_embd", shape.width,
                  fmt::format("vocab_size ({}), since lm_head is false", shape.vocabulary));
  shape.of_layers.assign(
      static_cast<std::size_t>(shape.layers),
      {.rotation = {}, .scale = 1 / std::sqrt(static_cast<double>(shape.head_dim))});
  shape.json = json_of(shape, norm).dump(2) + "\n";
  return shape;
}

Json lesson_training_config(const TrainingShape& shape) {
  return {{"model_type", "lesson"},
          {"n_layer", shape.layers},
          {"n_head", shape.heads},
          {"n_embd", shape.width},
          {"n_positions", shape.positions},
          {"vocab_size", shape.vocabulary},
          {"dropout", shape.dropout},
          {"attention_dropout", shape.attention_dropout},
          {"eos_token_id", json_of_ids(shape.end_tokens)}};
}

std::unique_ptr<Model> load_lesson(const Config& config, const Weights& weights,
                                   const Reading& reading) {
  DecoderShape shape = read_lesson(config);
  const StoredWeights stored(weights, {});
  stored.require("token_embedding_table.weight", {shape.vocabulary, shape.width});
  auto model = empty_decoder(std::move(shape));
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family lesson_family() {
  Family family = decoder_family<read_lesson>({"lesson"}, lesson_training_config);
  family.load = load_lesson;
  return family;
}

}  // namespace heed
