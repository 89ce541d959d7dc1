// One number a row: what entropy and expected_distance gather.
#pragma once

#include <array>

#include "heed/observe.h"
#include "heed/tensor.h"

namespace heed {

struct RowNumbers : Observer::State {
  std::array<double, kMaskRows> value = {};
};

/// Zeros [B, H, Tq].
inline Tensor row_answer(const ObservedShape& shape) {
  return Tensor::zeros({shape.batch, shape.heads, shape.query_length});
}

template <typename Number>
void store_row_numbers(const std::array<Number, kMaskRows>& numbers, const ObservedRows& rows,
                       Tensor& answer) {
  float* out = answer.data<float>() + (rows.batch * answer.dim(1) + rows.head) * answer.dim(2) +
               rows.row_begin;
  for (std::int64_t i = 0; i < rows.row_end - rows.row_begin; ++i)
    out[i] = static_cast<float>(numbers[static_cast<std::size_t>(i)]);
}

}  // namespace heed
