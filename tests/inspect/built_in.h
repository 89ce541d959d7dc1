// The built-in models, each loaded once.
#pragma once

#include <filesystem>

#include "heed/models/registry.h"
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

}  // namespace heed::test
