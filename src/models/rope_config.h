// Rotary positions as `config.json` describes them.
#pragma once

#include <cstdint>
#include <optional>

#include "heed/operators.h"
#include "models/config.h"
#include "nn/rotation.h"

namespace heed {

struct RopeKeys {
  std::int64_t head_dim = 0;
  std::int64_t positions = 0;  // length of the model's longest text
  RopePairs pairs = RopePairs::kHalves;
  double base = 10000;       // default
  bool only_inside = false;  // ignore `rope_theta` and `partial_rotary_factor` beside the object
  bool may_be_proportional = false;  // RopeScalingKind::kProportional is read, else refused
  std::optional<double> share = {};  // default share of a head that is rotated
};

/// Reads `rope_parameters` (transformers 5), or the older `rope_scaling` and `rope_theta`, like
/// transformers. Without `share`, all `head_dim` elements are rotated: transformers' Llama,
/// Mistral, Qwen and Gemma read `partial_rotary_factor` but rotate all. An unknown kind of scaling,
/// or one without its numbers, is an error.
RopeScaling read_rope(const Config& config, const RopeKeys& keys);
/// The same from an object of the configuration.
RopeScaling read_rope(const Config& config, const std::optional<Config>& said,
                      const RopeKeys& keys);
/// The same for models whose kinds of layers rotate differently: from the member `layers` of
/// `rope_parameters`. If `is_scaled`, `rope_scaling` adds or replaces members of it.
RopeScaling read_rope_of(const Config& config, const char* layers, const RopeKeys& keys,
                         bool is_scaled);

}  // namespace heed
