// Some examples of a task, and what a model answers.
#pragma once

#include <string>

#include "heed/models/model.h"
#include "train/task.h"

namespace heed {

/// Of the first examples for validation (of training, where there are none): what the model reads,
/// what is wanted, and what it answers, each answer where it is asked. Texts by the tokenizers.
std::string answered_examples(const Task& task, const Model& model);

}  // namespace heed
