// The model at the start of a run, and whether it fits in the machine's memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "heed/model.h"
#include "heed/train.h"
#include "models/training_config.h"

namespace heed {

/// Row p gets sin(p f_k) in its first half and cos(p f_k) in its second, f_k = 10000^(-k / half)
/// (Vaswani et al. 2017, section 3.5), scaled to the size of the previous values. A fixed distance
/// between positions is then a rotation, so one query-key matrix finds "the token before" at all
/// positions; with a random table it must be learned for each.
void start_sinusoidal(Parameter& table);

/// Loads the weights of a model folder, which must have the same parameters. A head that the task
/// adds may be missing there, and an unused one may be present.
void start_from(const std::filesystem::path& folder, Model& model);

/// The config.json required by the configuration and the task; with `start_from`, that of its
/// folder.
std::string model_config_json(const TrainConfig& config, const TrainingShape& of_task);

/// `start_from` as a folder; errors name the key.
std::filesystem::path start_folder(const TrainConfig& config);

/// Makes the configured model for a task with the shape `of_task`. Throws if the run would not fit
/// in the machine's memory.
std::unique_ptr<Model> new_model(const TrainConfig& config, const TrainingShape& of_task);

/// The same configuration, but a default `block` is limited to the positions of the starting model.
TrainConfig settled(TrainConfig config);

/// A lower bound of the memory in bytes: weights, gradients and moments, and what a pass of one
/// sequence keeps.
double least_bytes(const TrainConfig& config, std::int64_t vocabulary);

/// Throws kInvalidArgument if that exceeds `there_are` bytes, with the key to blame.
void check_memory(const TrainConfig& config, std::int64_t vocabulary, double there_are);
/// For this machine's memory.
void check_memory(const TrainConfig& config, std::int64_t vocabulary);

}  // namespace heed
