// One vector for a whole text: what sentence encoders are trained for (Reimers & Gurevych 2019).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "heed/models/registry.h"

namespace heed {

/// How the states of a text's tokens become one vector.
struct Pooling {
  enum class Kind : std::uint8_t { kMean, kFirst };

  Kind kind = Kind::kMean;
  bool normalised = true;  // to length 1
};

/// From `1_Pooling/config.json` and `modules.json` beside the model, as sentence-transformers
/// writes them; the mean, normalised, where there are none. Other ways to pool are kUnsupported.
Pooling read_pooling(const std::filesystem::path& folder);

/// [texts, C], f32, of an encoder's last states. The texts run side by side.
Tensor sentence_vectors(const Model& model, std::span<const std::vector<TokenId>> texts,
                        const Pooling& pooling = {});
Tensor sentence_vectors(const LoadedModel& model, std::span<const std::string> texts);

}  // namespace heed
