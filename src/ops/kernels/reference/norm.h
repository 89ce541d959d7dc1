// Layer normalisation and the RMS norm in plain double loops.
#pragma once

#include <cmath>

#include "ops/kernels/norm.h"

namespace heed::kernels::reference {

struct RowStatistics {
  double mean = 0;  // 0 for the RMS norm
  double inverse_deviation = 0;
};

template <typename T>
RowStatistics row_statistics(const NormProblem<T>& p, std::int64_t row) {
  const T* x = p.x + row * p.width;
  double sum = 0;
  for (std::int64_t c = 0; c < p.width; ++c) sum += x[c];
  const double mean = p.bias == nullptr ? 0 : sum / static_cast<double>(p.width);
  double squares = 0;
  for (std::int64_t c = 0; c < p.width; ++c) squares += (x[c] - mean) * (x[c] - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(p.width) + p.epsilon)};
}

template <typename T>
void norm(const NormProblem<T>& p, T* y) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.width;
    const auto [mean, inverse] = row_statistics(p, row);
    for (std::int64_t c = 0; c < p.width; ++c)
      y[row * p.width + c] = static_cast<T>((x[c] - mean) * inverse * p.weight[c] +
                                            (p.bias == nullptr ? T{0} : p.bias[c]));
  }
}

// With n = (x - mean) / deviation and g = dy * weight: dx = (g - mean(g) - n mean(g n)) /
// deviation, without mean(g) for the RMS norm.
template <typename T>
void norm_backward(const NormProblem<T>& p, const NormBackward<T>& grads) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.width;
    const T* dy = grads.dy + row * p.width;
    const auto [mean, inverse] = row_statistics(p, row);
    double sum_g = 0;
    double sum_gn = 0;
    for (std::int64_t c = 0; c < p.width; ++c) {
      const double n = (x[c] - mean) * inverse;
      const double g = static_cast<double>(dy[c]) * p.weight[c];
      if (p.bias != nullptr) sum_g += g;
      sum_gn += g * n;
      grads.dweight[c] += static_cast<T>(dy[c] * n);
      if (p.bias != nullptr) grads.dbias[c] += dy[c];
    }
    for (std::int64_t c = 0; c < p.width; ++c) {
      const double n = (x[c] - mean) * inverse;
      const double g = static_cast<double>(dy[c]) * p.weight[c];
      grads.dx[row * p.width + c] =
          static_cast<T>((g - (sum_g + n * sum_gn) / static_cast<double>(p.width)) * inverse);
    }
  }
}

}  // namespace heed::kernels::reference
