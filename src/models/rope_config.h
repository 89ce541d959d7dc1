// Rotary positions as `config.json` describes them.
#pragma once

#include <cstdint>

#include "models/config.h"
#include "nn/rope_scaling.h"

namespace heed {

/// From `rope_parameters` (transformers 5), or `rope_scaling` in its place and `rope_theta`
/// (before), as transformers reads them. All `head_dim` elements are turned: its Llama, Mistral,
/// Qwen and Gemma read `partial_rotary_factor` and turn them all, too. `positions` is the model's
/// longest text. A kind of scaling that is not known, or that lacks its numbers, is an error.
RopeScaling read_rope(const Config& config, std::int64_t head_dim, std::int64_t positions);

}  // namespace heed
