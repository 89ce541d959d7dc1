// The scales of int8: one f32 for each 32 consecutive elements of a row.
#pragma once

#include <cstdint>

#include "heed/tensor/shape.h"

namespace heed {

inline constexpr std::int64_t kElementsPerScale = 32;

/// Of int8 values of `shape`: ceil(D / 32) in place of D, the last extent.
inline Shape scales_shape(Shape shape) {
  std::int64_t& last = shape[shape.rank() - 1];
  last = (last + kElementsPerScale - 1) / kElementsPerScale;
  return shape;
}

}  // namespace heed
