// Lists of integers that masks are made of.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// The elements of an i32 or i64 view, row-major; `mask` and `what` stand in the message.
std::vector<std::int64_t> integers(std::string_view mask, std::string_view what,
                                   const ConstView& view);

}  // namespace heed
