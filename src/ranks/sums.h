// Gradients of parts, added up.
#pragma once

#include "heed/tensor/tensor.h"

namespace heed {

/// As the gradients of tensors of this type are added up: f32, or f64 for f64.
inline DType sum_type(const ConstView& of) {
  return of.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}

/// to += part, of one shape [B, H, T, D]; `to` of its sum_type, T D of it side by side.
void add_part(const View& to, const ConstView& part);

}  // namespace heed
