// Tensors in messages.
#pragma once

#include <string>

#include "heed/tensor.h"

namespace heed {

/// "f32 [2, 3]".
inline std::string to_string(DType dtype, const Shape& shape) {
  return std::string(name(dtype)) + " " + to_string(shape);
}

/// The same of a view; empty where none is given.
inline std::string to_string(const ConstView& view) {
  return view.given() ? to_string(view.dtype(), view.shape()) : std::string();
}

}  // namespace heed
