// Where models lie, and which files stand beside a model's weights.
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

/// Copies them, as far as they are there: how to pool and to generate, what the tokens are for, the
/// card and the licence.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to);

/// What else lies in a model's folder: neither these nor what `save_model` writes in some form.
/// Sorted, folders with a slash behind; hidden files are not named.
std::vector<std::string> left_out(const std::filesystem::path& folder);

}  // namespace heed
