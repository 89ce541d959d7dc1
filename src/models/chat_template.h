// The chat template of a model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/formats/json.h"

namespace heed {

struct ChatTemplate {
  std::string source;
  std::string file;  // its place, for errors
};

/// Finds the template of a model's folder or GGUF file. `has_tools`: prefers "tool_use" in a list.
/// Empty if the model has none.
std::optional<ChatTemplate> find_chat_template(const std::filesystem::path& model, bool has_tools);

/// {"bos_token": "<s>", ...}: the special tokens named in the model's files.
Json named_special_tokens(const std::filesystem::path& model);

}  // namespace heed
