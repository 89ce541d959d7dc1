// The page's files stand gzipped in the program.
#pragma once

#include <string>
#include <string_view>

namespace heed::serve {

std::string inflated(std::string_view gzip);

}  // namespace heed::serve
