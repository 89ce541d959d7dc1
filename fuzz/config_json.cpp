// The bytes are a config.json. It is refused with a heed::Error, or describes a model with usable
// extents.
#include <cstdlib>
#include <string_view>

#include "heed/error.h"
#include "models/config.h"
#include "models/family.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const heed::Config config =
        heed::Config::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
    const heed::ModelInfo info = heed::family_of(config).describe(config);
    if (info.layers < 1 || info.heads < 1 || info.vocabulary < 1 || info.positions < 1)
      std::abort();
    if (info.stacks.empty() || info.title.empty()) std::abort();
  } catch (const heed::Error&) {
  }
  return 0;
}
