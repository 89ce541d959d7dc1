// Whether a run fits the machine, before anything is made.
#pragma once

#include <cstdint>

#include "heed/train/config.h"

namespace heed {

/// At least so many bytes: weights, gradients and moments, and what a pass of one sequence
/// keeps.
double least_bytes(const TrainConfig& config, std::int64_t vocabulary);

/// Throws kInvalidArgument where that is more than `there_are` bytes, with the key to blame.
void check_memory(const TrainConfig& config, std::int64_t vocabulary, double there_are);
/// Of this machine.
void check_memory(const TrainConfig& config, std::int64_t vocabulary);

}  // namespace heed
