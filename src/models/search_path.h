// Where models lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// True for a folder of share/heed/models beside the program.
bool is_built_in(const std::filesystem::path& folder);

/// What a folder's model is called: `openai-community/gpt2` in the Hugging Face cache, the run's
/// folder where training wrote `RUN/model`, else the folder's own name.
std::string model_name(const std::filesystem::path& folder);

/// A GGUF file by its name and its content, and no later part of a split one.
bool is_gguf_name(const std::filesystem::path& path);
/// Those of a folder, sorted.
std::vector<std::filesystem::path> gguf_files(const std::filesystem::path& folder);

}  // namespace heed
