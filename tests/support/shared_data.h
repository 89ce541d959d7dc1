// Test data beside the checkout, not in it. Tests that need missing data skip and say so.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/places.h"

namespace heed::test {

/// The folder `../shared/data`, or $HEED_SHARED_DATA.
inline std::filesystem::path shared_data() {
  const char* chosen = std::getenv("HEED_SHARED_DATA");
  if (chosen != nullptr) return chosen;
  return std::filesystem::path(HEED_SOURCE_DIR) / ".." / "shared" / "data";
}

}  // namespace heed::test

#define HEED_NEEDS_SHARED(relative)                                     \
  if (!std::filesystem::exists(heed::test::shared_data() / (relative))) \
  GTEST_SKIP() << "needs " << (heed::test::shared_data() / (relative)).string()
