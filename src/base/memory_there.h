// How much memory the machine has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace heed {

/// Bytes that this process may have: the machine's, or what its control group allows where that is
/// less.
double memory_there();

/// Bytes that this process may take now without swapping: what the system calls available, or less
/// where a control group leaves less. None where the system does not say. `root` is where /proc and
/// /sys lie.
std::optional<std::int64_t> memory_free(const std::filesystem::path& root = "/");

}  // namespace heed
