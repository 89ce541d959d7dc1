// card.md: what a model is, where it comes from, how good it is.
#pragma once

#include <string>

#include "heed/models/model.h"
#include "heed/train/train.h"
#include "train/task.h"

namespace heed {

struct Card {
  const TrainConfig& config;
  const Task& task;
  const Model& model;
  const TrainResult& result;
};

std::string to_markdown(const Card& card);

}  // namespace heed
