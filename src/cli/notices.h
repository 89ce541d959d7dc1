// What heed links and bundles, with its licences.
#pragma once

#include <string_view>

namespace heed::cli {

/// The content of THIRD_PARTY.md; the build puts it into the program (cmake/notices.cmake).
std::string_view notices();

}  // namespace heed::cli
