// The chat template that comes with a model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/formats/json.h"

namespace heed {

struct ChatTemplate {
  std::string source;
  std::string file;  // where it stands, for errors
};

/// Finds the template of a model's folder or GGUF file. `has_tools`: prefers "tool_use" in a list.
/// None where the model has none.
std::optional<ChatTemplate> find_chat_template(const std::filesystem::path& model, bool has_tools);

/// {"bos_token": "<s>", ...}: the special tokens that the model's files name.
Json named_special_tokens(const std::filesystem::path& model);

}  // namespace heed
