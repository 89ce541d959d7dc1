// The scales of i8: one f32 for each 32 consecutive elements of a row.
#pragma once

#include <cstdint>

namespace heed {

inline constexpr std::int64_t kElementsPerScale = 32;

}  // namespace heed
