// Text that may be long, in messages.
#pragma once

#include <string>
#include <string_view>

namespace heed {

/// At most `most` bytes of it, whole characters, and "..." where something is left out.
std::string clipped(std::string_view text, std::size_t most = 60);

}  // namespace heed
