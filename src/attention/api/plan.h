// A plan in words.
#pragma once

#include <string>
#include <string_view>

#include "heed/attention.h"

namespace heed {

/// Lines, the first of which begins with `title`: "forward".
std::string plan_text(std::string_view title, const Plan& plan);

/// The mask and where query 0 stands: "band(left=-1, right=0), bottom-right"; "none" without a
/// mask.
std::string mask_text(const Plan& plan);

}  // namespace heed
