// Rows of matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "heed/tensor.h"

namespace heed {

/// A row of a matrix [rows, n] of f32.
inline std::span<const float> matrix_row(const Tensor& matrix, std::int64_t row) {
  const std::int64_t width = matrix.dim(1);
  return {matrix.data<float>() + row * width, static_cast<std::size_t>(width)};
}

}  // namespace heed
