// The version of heed.
#pragma once

#include <string_view>

namespace heed {

/// "major.minor.patch" of the library that is linked.
std::string_view version();

}  // namespace heed
