// Models of tests: the built-in ones, each loaded once, and a small random one without a tokenizer.
#pragma once

#include <fmt/format.h>

#include <filesystem>

#include "heed/model.h"
#include "support/places.h"

namespace heed::test {

inline LoadedModel built_in(const char* name) {
  return load_model(std::filesystem::path(HEED_SOURCE_DIR) / "models" / name);
}

inline const LoadedModel& tales() {
  static const LoadedModel model = built_in("tales");
  return model;
}

inline const LoadedModel& masks() {
  static const LoadedModel model = built_in("masks");
  return model;
}

inline LoadedModel tiny(int layers) {
  LoadedModel model{.name = "tiny", .folder = {}, .built_in = false, .model = {}, .tokenizer = {}};
  model.model = make_model(
      fmt::format(R"({{"model_type": "gpt2", "n_positions": 16, "n_embd": 16, "n_layer": {},)"
                  R"( "n_head": 4, "vocab_size": 256}})",
                  layers),
      1);
  return model;
}

}  // namespace heed::test
