// The models that a training run leaves for whoever watches it: a folder a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace heed {

/// folder/step-<step>
std::filesystem::path watched_step(const std::filesystem::path& folder, std::int64_t step);

/// The steps whose models a folder holds, in order.
std::vector<std::int64_t> watched_steps(const std::filesystem::path& folder);

}  // namespace heed
