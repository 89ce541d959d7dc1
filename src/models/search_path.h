// Where models lie.
#pragma once

#include <filesystem>

namespace heed {

/// True for a folder of share/heed/models beside the program.
bool is_built_in(const std::filesystem::path& folder);

}  // namespace heed
