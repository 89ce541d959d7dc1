// Rotary positions as `config.json` describes them.
#pragma once

#include <cstdint>
#include <optional>

#include "models/config.h"
#include "nn/rope_scaling.h"

namespace heed {

struct RopeKeys {
  std::int64_t head_dim = 0;
  std::int64_t positions = 0;  // of the model's longest text
  RopePairs pairs = RopePairs::kHalves;
  double base = 10000;  // where the configuration has none
  bool only_inside =
      false;  // `rope_theta` and `partial_rotary_factor` beside the object do not count
  std::optional<double> share = {};  // of a head that turns, where the configuration has none
};

/// From `rope_parameters` (transformers 5), or `rope_scaling` in its place and `rope_theta`
/// (before), as transformers reads them. Without `share` all `head_dim` elements are turned: its
/// Llama, Mistral, Qwen and Gemma read `partial_rotary_factor` and turn them all, too. A kind of
/// scaling that is not known, or that lacks its numbers, is an error.
RopeScaling read_rope(const Config& config, const RopeKeys& keys);
/// The same from an object of the configuration, for models that turn layers differently.
RopeScaling read_rope(const Config& config, const std::optional<Config>& said,
                      const RopeKeys& keys);

}  // namespace heed
