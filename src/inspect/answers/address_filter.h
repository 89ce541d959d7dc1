// The filter of heads in an address: blanks are plus signs there.
#pragma once

#include <string>
#include <string_view>

#include "heed/inspect/view.h"

namespace heed {

/// False where it does not parse.
bool read_filter(ViewAddress& view, std::string_view text);
std::string filter_text(const ViewAddress& view);

}  // namespace heed
