// The two ways in which ONNX lays heads out: [B, H, T, D], or packed into the last of three axes.
#pragma once

#include "onnx/operators.h"

namespace heed::onnx {

/// [B, T, H D] seen as [B, H, T, D]; what has four axes as it is.
ConstView with_heads(const ConstView& x, std::int64_t heads, std::string_view what);

/// [B, H, T, D] as [B, T, H D], where the input had three axes.
Tensor packed_heads(Tensor y, bool packed);

}  // namespace heed::onnx
