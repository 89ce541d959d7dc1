// The axes that a norm goes over.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// Whether `tail`, of at least one axis and one element, is the shape of trailing axes of `shape`.
inline bool has_trailing_axes(const Shape& shape, const Shape& tail) {
  const int missing = shape.rank() - tail.rank();
  if (missing < 0 || tail.rank() == 0 || tail.element_count() == 0) return false;
  for (int axis = 0; axis < tail.rank(); ++axis)
    if (tail[axis] != shape[missing + axis]) return false;
  return true;
}

}  // namespace heed
