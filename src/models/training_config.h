// The `config.json` of a model to be trained, from what the training run requires.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// The task that a model is trained for; decides which families fit.
enum class TrainedFor : std::uint8_t {
  kNextToken,     // decoders
  kMaskedToken,   // encoders
  kTranslation,   // encoder-decoders
  kTokenClasses,  // decoders and encoders
  kTextClasses,
};

/// The shape of model that a training run requires.
struct TrainingShape {
  TrainedFor trained_for = TrainedFor::kNextToken;
  std::string model_type = {};  // empty: the usual one; set by `training_config`
  std::int64_t vocabulary = 0;
  std::int64_t target_vocabulary = 0;  // translation: size of the target vocabulary; 0: the same
  std::int64_t positions = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;
  double dropout = 0;
  double attention_dropout = 0;
  std::vector<std::int64_t> end_tokens = {};
  std::int64_t start_token = -1;  // translation only
  std::int64_t pad_token = -1;
  std::vector<std::string> labels = {};  // classification only
};

/// The `config.json` for it. The members of `further`, a JSON object, are added or replace the
/// family's own; its `model_type` chooses the family (default: gpt2, bert or marian).
std::string training_config(const TrainingShape& shape, std::string_view further);

/// The `config.json` for continued training of a model: its own, with the dropout and labels of the
/// shape, and `further`. The shape's vocabulary and positions must fit; its layers,
/// heads and width are ignored.
std::string continued_config(const std::filesystem::path& model, const TrainingShape& shape,
                             std::string_view further);

}  // namespace heed
