// Examples that a generator makes, in the form of any task that fits its answers.
#pragma once

#include <memory>

#include "train/task.h"

namespace heed {

/// As `generate`, `generate_length` and `task` say. The configuration must outlive it.
std::unique_ptr<Task> make_generated_task(const TrainConfig& config);

}  // namespace heed
