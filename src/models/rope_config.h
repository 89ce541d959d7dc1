// Rotary positions as `config.json` describes them.
#pragma once

#include <cstdint>

#include "models/config.h"
#include "nn/rope_scaling.h"

namespace heed {

/// From `rope_parameters` (transformers 5), or `rope_theta` and `rope_scaling` (before). `head_dim`
/// elements are turned, or the share of them that `partial_rotary_factor` says; `positions` is the
/// model's longest text. A kind of scaling that is not known is an error with those that are.
RopeScaling read_rope(const Config& config, std::int64_t head_dim, std::int64_t positions);

}  // namespace heed
