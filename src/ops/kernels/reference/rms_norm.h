// The RMS norm in plain double loops.
#pragma once

#include <cmath>

#include "ops/kernels/rms_norm.h"

namespace heed::kernels::reference {

// 1 / sqrt(mean(x^2) + epsilon).
template <typename T>
double inverse_rms(const T* x, std::int64_t width, double epsilon) {
  double squares = 0;
  for (std::int64_t c = 0; c < width; ++c) squares += static_cast<double>(x[c]) * x[c];
  return 1 / std::sqrt(squares / static_cast<double>(width) + epsilon);
}

template <typename T>
void rms_norm(const RmsNormProblem<T>& p, T* y) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.width;
    const double inverse = inverse_rms(x, p.width, p.epsilon);
    for (std::int64_t c = 0; c < p.width; ++c)
      y[row * p.width + c] = static_cast<T>(x[c] * inverse * p.weight[c]);
  }
}

// With n = x inverse and g = dy weight: dx = (g - n mean(g n)) inverse.
template <typename T>
void rms_norm_backward(const RmsNormProblem<T>& p, const RmsNormBackward<T>& grads) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.width;
    const T* dy = grads.dy + row * p.width;
    const double inverse = inverse_rms(x, p.width, p.epsilon);
    double sum_gn = 0;
    for (std::int64_t c = 0; c < p.width; ++c) {
      const double n = x[c] * inverse;
      sum_gn += static_cast<double>(dy[c]) * p.weight[c] * n;
      grads.dweight[c] += static_cast<T>(dy[c] * n);
    }
    const double mean_gn = sum_gn / static_cast<double>(p.width);
    for (std::int64_t c = 0; c < p.width; ++c) {
      const double g = static_cast<double>(dy[c]) * p.weight[c];
      grads.dx[row * p.width + c] = static_cast<T>((g - x[c] * inverse * mean_gn) * inverse);
    }
  }
}

}  // namespace heed::kernels::reference
