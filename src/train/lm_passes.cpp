#include "train/lm_passes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/ops/loss.h"

namespace heed {
namespace {

std::int64_t size_of(std::span<const TokenId> tokens) {
  return static_cast<std::int64_t>(tokens.size());
}

}  // namespace

std::string model_config_json(const TrainConfig& config, const TextData& data) {
  nlohmann::ordered_json json = {
      {"model_type", "gpt2"},
      {"architectures", {"GPT2LMHeadModel"}},
      {"vocab_size", data.tokenizer->vocabulary_size()},
      {"n_positions", config.block},
      {"n_ctx", config.block},
      {"n_embd", config.width},
      {"n_layer", config.layers},
      {"n_head", config.heads},
      {"activation_function", "gelu_new"},
      {"layer_norm_epsilon", 1e-5},
      {"embd_pdrop", config.dropout},
      {"attn_pdrop", 0.0},
      {"resid_pdrop", config.dropout},
      {"bos_token_id", nullptr},
      {"eos_token_id", nullptr},
  };
  if (data.separator >= 0) json["bos_token_id"] = json["eos_token_id"] = data.separator;
  json.update(nlohmann::ordered_json::parse(config.model));
  return json.dump();
}

LmPasses::LmPasses(const TrainConfig& config, const TextData& data, const Model& model)
    : config_(config), data_(data), model_(model), batch_(config.batch, config.block) {}

double LmPasses::loss_and_gradients(std::int64_t step, Gradients& gradients) {
  const auto seed = static_cast<std::uint64_t>(config_.seed);
  double sum = 0;
  for (std::int64_t pass = 0; pass < config_.accumulate; ++pass) {
    const std::int64_t index = step * config_.accumulate + pass;
    for (std::int64_t row = 0; row < config_.batch; ++row) {
      const std::int64_t crop = index * config_.batch + row;
      const std::int64_t begin = random_crop(seed, crop, size_of(data_.train), config_.block);
      if (const auto period = repeat_period(seed, crop, config_.repeats, config_.block))
        batch_.put_repeated(row, data_.train, begin, *period);
      else
        batch_.put(row, data_.train, begin);
    }
    Saved saved;
    Run run{.saved = &saved};
    if (config_.dropout > 0) run.dropout_seed = dropout_seed(seed, index);
    Tensor logits = model_.forward({batch_.ids}, run);
    sum += cross_entropy({.logits = logits,
                          .targets = batch_.targets,
                          .dlogits = logits,  // in place
                          .gradient_scale = 1.0 / static_cast<double>(config_.accumulate)})
               .mean;
    model_.backward(logits, {batch_.ids}, run, gradients);
  }
  return sum / static_cast<double>(config_.accumulate);
}

std::optional<double> LmPasses::evaluate() {
  if (config_.validation == 0) return std::nullopt;
  const std::int64_t tokens = size_of(data_.validation);
  const std::int64_t all = (tokens - 1) / config_.block;  // crops without overlap
  const std::int64_t asked = config_.evaluate_batches * config_.batch;
  const std::int64_t crops = asked == 0 ? all : std::min(asked, all);
  double sum = 0;
  for (std::int64_t first = 0; first < crops; first += config_.batch) {
    const std::int64_t rows = std::min(config_.batch, crops - first);
    for (std::int64_t row = 0; row < rows; ++row)
      batch_.put(row, data_.validation, even_crop(first + row, crops, tokens, config_.block));
    Run run;
    const ConstView ids = batch_.ids.view().slice(0, 0, rows);
    const Tensor logits = model_.forward({ids}, run);
    const ConstView targets = batch_.targets.view().slice(0, 0, rows);
    sum += static_cast<double>(rows) * cross_entropy({.logits = logits, .targets = targets}).mean;
  }
  return sum / static_cast<double>(crops);
}

}  // namespace heed
