// What a model family gives the registry: one row in families.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "heed/io/safetensors.h"
#include "heed/models/model.h"
#include "models/config.h"

namespace heed {

struct Family {
  std::string_view model_type;  // as config.json names it
  /// Throws where the configuration is none that the family reads.
  void (*check)(const Config& config);
  /// With random weights.
  std::unique_ptr<Model> (*make)(const Config& config, std::uint64_t seed);
  /// With the weights of a file.
  std::unique_ptr<Model> (*load)(const Config& config, const Weights& weights);
};

/// The family that the config asks for; an error names what it is and what is known.
const Family& family_of(const Config& config);

}  // namespace heed
