// What is added up of parts: their outputs, their gradients.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// As what belongs to tensors of this type is added up: f32, or f64 for f64.
inline DType sum_type(const ConstView& of) {
  return of.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}

/// to += part, of one shape [B, H, T, D]; `to` of its sum_type, T D of it side by side.
void add_part(const View& to, const ConstView& part);

}  // namespace heed
