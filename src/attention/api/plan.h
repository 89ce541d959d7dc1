// A plan in words.
#pragma once

#include <string>
#include <string_view>

#include "heed/attention.h"

namespace heed {

/// Lines, the first of which begins with `title`: "forward".
std::string plan_text(std::string_view title, const Plan& plan);

}  // namespace heed
