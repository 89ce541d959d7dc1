// A folder with a small decoder whose every token is a letter.
#pragma once

#include <filesystem>
#include <string>

#include "cli/program.h"
#include "heed/models/registry.h"
#include "support/sharpen.h"
#include "text/word_level.h"

namespace heed::test {

/// A model of the letters a to k, weights far from flat; `more` are further keys of its
/// config.json.
inline std::string letters_folder(const std::string& name, const std::string& more = "") {
  const auto path = scratch() / name;
  if (std::filesystem::exists(path)) return path;
  const auto model = make_model(R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16,
    "n_positions": 24, "vocab_size": 11)" +
                                    more + "}",
                                1);
  sharpen(*model);
  save_model(path, *model, train_characters("abcdefghijk").get(), DType::kF32);
  return path;
}

}  // namespace heed::test
