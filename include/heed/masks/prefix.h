// Keys that everyone sees.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/masks/mask.h"

namespace heed {

/// Visible where the key's position is below `lengths[b]` (one entry a batch, or one for all).
/// `causal() | prefix({n})` is the prefix language model's mask: the first n keys are seen by all,
/// the rest causally (Raffel et al. 2020, figure 4).
Mask prefix(std::vector<std::int64_t> lengths);

}  // namespace heed
