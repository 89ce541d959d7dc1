// A plan as text.
#pragma once

#include <string>
#include <string_view>

#include "heed/attention.h"

namespace heed {

/// Lines of text; the first begins with `title`: "forward".
std::string plan_text(std::string_view title, const Plan& plan);

/// The mask and the placement of query 0: "band(left=-1, right=0), bottom-right"; "none" without a
/// mask.
std::string mask_text(const Plan& plan);

}  // namespace heed
