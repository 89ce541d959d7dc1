// Cases that the page's tests read too.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "support/places.h"

namespace heed::test {

inline nlohmann::json vectors(const std::string& name) {
  return nlohmann::json::parse(
      read_file(std::string(HEED_SOURCE_DIR) + "/tests/vectors/" + name + ".json"));
}

}  // namespace heed::test
