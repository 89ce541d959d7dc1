// Inputs of commands in tests: arrays as files, and a folder with a small decoder whose tokens are
// letters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/program.h"
#include "heed/model.h"
#include "heed/tensor.h"
#include "support/tiny_configs.h"
#include "text/word_level.h"

namespace heed::test {

/// Writes the array into the scratch folder; returns its path.
inline std::string written(const std::string& name, const ConstView& array) {
  write_npy(in_scratch(name), array);
  return in_scratch(name);
}

inline std::string list_of(const std::string& name, std::vector<std::int64_t> values) {
  return written(name, ConstView(values.data(), DType::kI64, {std::ssize(values)}));
}

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
