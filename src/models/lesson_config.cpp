// The `config.json` of a decoder with missing parts. Only heed reads it.
#include <fmt/format.h>

#include "base/formats/json.h"
#include "io/tensor_files.h"
#include "models/family.h"
#include "models/lesson.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"
#include "models/training_config.h"

namespace heed {

LessonConfig LessonConfig::read(const Config& config) {
  LessonConfig read;
  read.layers = config.extent("n_layer", 1, /*least=*/0);
  read.heads = config.extent("n_head", 1);
  read.width = config.extent("n_embd", 32);
  read.inner = config.extent("n_inner", 4 * read.width, /*least=*/0);
  read.vocabulary = config.extent("vocab_size", 65);
  read.positions = config.extent("n_positions", 8);
  read.knows_positions = config.flag("position_embedding", true);
  read.residual = config.flag("residual", true);
  read.norm = config.flag("norm", true);
  read.head = config.flag("lm_head", true);
  read.dropout = config.rate("dropout", 0);
  read.attention_dropout = config.rate("attention_dropout", 0);
  read.initial_deviation = config.not_negative("initializer_range", 0.02);
  read.eos = config.ids("eos_token_id", {});
  if (read.width % read.heads != 0)
    config.refuse("n_embd", read.width, fmt::format("a multiple of n_head ({})", read.heads));
  if (!read.head && read.width != read.vocabulary)
    config.refuse("n_embd", read.width,
                  fmt::format("vocab_size ({}), since lm_head is false", read.vocabulary));
  return read;
}

ModelInfo LessonConfig::info() const {
  return {.family = "lesson",
          .title = layers == 0 ? "Bigram" : "Lesson",
          .layers = layers,
          .heads = heads,
          .kv_heads = heads,
          .width = width,
          .head_dim = width / heads,
          .vocabulary = vocabulary,
          .positions = positions,
          .end_tokens = eos,
          .stacks = {
              stack_shape(Stack::kSelf, /*causal=*/true, {layers, heads, heads, width / heads})}};
}

std::string LessonConfig::to_json() const {
  const Json json = {{"model_type", "lesson"},
                     {"architectures", Json::array({"LessonLMHeadModel"})},
                     {"n_layer", layers},
                     {"n_head", heads},
                     {"n_embd", width},
                     {"n_inner", inner},
                     {"n_positions", positions},
                     {"vocab_size", vocabulary},
                     {"position_embedding", knows_positions},
                     {"residual", residual},
                     {"norm", norm},
                     {"lm_head", head},
                     {"dropout", dropout},
                     {"attention_dropout", attention_dropout},
                     {"initializer_range", initial_deviation},
                     {"eos_token_id", json_of_ids(eos)}};
  return json.dump(2) + "\n";
}

namespace {

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

ModelInfo describe_lesson(const Config& config) { return LessonConfig::read(config).info(); }

std::unique_ptr<Model> make_lesson(const Config& config, std::uint64_t seed) {
  auto model = std::make_unique<Lesson>(LessonConfig::read(config));
  model->initialise(seed);
  return model;
}

std::unique_ptr<Model> load_lesson(const Config& config, const Weights& weights,
                                   const Reading& reading) {
  const LessonConfig read = LessonConfig::read(config);
  const StoredWeights stored(weights, {});
  stored.require("token_embedding_table.weight", {read.vocabulary, read.width});
  auto model = std::make_unique<Lesson>(read);
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family lesson_family() {
  return {{"lesson"}, describe_lesson, make_lesson, load_lesson, lesson_training_config};
}

}  // namespace heed
