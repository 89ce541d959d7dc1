// Where models are searched, and which files accompany a model's weights.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// True for a folder in share/heed/models beside the program.
bool is_built_in(const std::filesystem::path& folder);

/// The name of a folder's model: `openai-community/gpt2` in the Hugging Face cache, the run's
/// folder for `RUN/model`, else the folder's name.
std::string model_name(const std::filesystem::path& folder);

/// A GGUF file by its name and content, except later parts of a split one.
bool is_gguf_name(const std::filesystem::path& path);
/// The GGUF files of a folder, sorted.
std::vector<std::filesystem::path> gguf_files(const std::filesystem::path& folder);

/// The first paragraph of a folder's card (`card.md`, else `README.md`), on one line, without
/// headings and front matter. Empty if there is none.
std::string card_line(const std::filesystem::path& folder);

/// Copies the files that exist: pooling, generation, special tokens, the card and the licence.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to);

/// Other entries of a model's folder: neither these files nor files that `save_model` writes in
/// some form. Sorted; folders end with a slash; hidden files are omitted.
std::vector<std::string> left_out(const std::filesystem::path& folder);

}  // namespace heed
