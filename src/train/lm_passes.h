// Next-token passes through a model: the loss and gradients of a step, the loss of an evaluation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "heed/models/model.h"
#include "heed/train/config.h"
#include "train/crops.h"
#include "train/text_data.h"

namespace heed {

/// The content of the config.json that the keys of the configuration and the tokenizer ask for.
std::string model_config_json(const TrainConfig& config, const TextData& data);

class LmPasses {
 public:
  /// All three must outlive it. Room for the batches is made here, once.
  LmPasses(const TrainConfig& config, const TextData& data, const Model& model);

  /// Loss and gradients of step `step` (from 0): the mean over all its passes; adds to `gradients`.
  double loss_and_gradients(std::int64_t step, Gradients& gradients);
  /// Mean over the same crops of the validation part each time; none without such a part.
  std::optional<double> evaluate();

 private:
  const TrainConfig& config_;
  const TextData& data_;
  const Model& model_;
  CropBatch batch_;
};

}  // namespace heed
