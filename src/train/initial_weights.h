// The model that a run begins with, and whether it fits the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "heed/models/registry.h"
#include "heed/train/train.h"

namespace heed {

/// Row p gets sin(p f_k) in its first half and cos(p f_k) in its second, f_k = 10000^(-k / half)
/// (Vaswani et al. 2017, section 3.5), scaled to the size of the values that stood there. A fixed
/// distance between positions is a rotation then, so one query-key matrix finds "the token before"
/// for all positions, where a random table has to learn it for each.
void start_sinusoidal(Parameter& table);

/// The weights of a model folder, which must have the same parameters; a head that the task puts on
/// the model may be missing there, and one that it does not use may stand there.
void start_from(const std::filesystem::path& folder, Model& model);

/// The content of the config.json that the keys of the configuration and the task ask for; with
/// `start_from` that of its folder.
std::string model_config_json(const TrainConfig& config, const TrainingShape& of_task);

/// `start_from` as a folder; an error names the key.
std::filesystem::path start_folder(const TrainConfig& config);

/// As the configuration says, for a task that asks for `of_task`. Throws where the run would not
/// fit the machine's memory.
std::unique_ptr<Model> new_model(const TrainConfig& config, const TrainingShape& of_task);

/// The same, but `block` is at most the positions of the model that the run starts from, where it
/// is the usual one.
TrainConfig settled(TrainConfig config);

/// At least so many bytes: weights, gradients and moments, and what a pass of one sequence
/// keeps.
double least_bytes(const TrainConfig& config, std::int64_t vocabulary);

/// Throws kInvalidArgument where that is more than `there_are` bytes, with the key to blame.
void check_memory(const TrainConfig& config, std::int64_t vocabulary, double there_are);
/// Of this machine.
void check_memory(const TrainConfig& config, std::int64_t vocabulary);

}  // namespace heed
