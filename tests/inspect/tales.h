// The built-in decoder, loaded once.
#pragma once

#include <filesystem>

#include "heed/models/registry.h"
#include "support/places.h"

namespace heed::test {

inline const LoadedModel& tales() {
  static const LoadedModel model =
      load_model(std::filesystem::path(HEED_SOURCE_DIR) / "models" / "tales");
  return model;
}

}  // namespace heed::test
