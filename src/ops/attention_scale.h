// The factor of similarities, with attention's default.
#pragma once

#include <vector>

#include "heed/ops/attention.h"

namespace heed {

/// One number a head; throws where scores.scale does not fit the heads or is not finite.
std::vector<double> resolved_scale(const AttentionArgs& args);

}  // namespace heed
