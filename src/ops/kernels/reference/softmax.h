// The softmax in plain double loops.
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/kernels/softmax.h"

namespace heed::kernels::reference {

template <typename T>
void softmax(const SoftmaxRows<T>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.width;
    const double largest = p.width == 0 ? 0 : *std::max_element(x, x + p.width);
    double sum = 0;
    for (std::int64_t c = 0; c < p.width; ++c) sum += std::exp(x[c] - largest);
    for (std::int64_t c = 0; c < p.width; ++c)
      p.out[row * p.width + c] = static_cast<T>(std::exp(x[c] - largest) / sum);
  }
}

template <typename T>
void softmax_backward(const SoftmaxRows<T>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* y = p.x + row * p.width;
    const T* dy = p.dy + row * p.width;
    double sum = 0;
    for (std::int64_t c = 0; c < p.width; ++c) sum += static_cast<double>(y[c]) * dy[c];
    for (std::int64_t c = 0; c < p.width; ++c)
      p.out[row * p.width + c] = static_cast<T>(y[c] * (dy[c] - sum));
  }
}

}  // namespace heed::kernels::reference
