// The optimizer's meaning in plain loops.
#pragma once

#include <cmath>

#include "ops/kernels/adamw.h"

namespace heed::kernels::reference {

inline void adamw(const AdamWPiece<double>& piece, const AdamWUpdate<double>& update) {
  for (std::int64_t i = 0; i < piece.count; ++i) {
    const double g = piece.gradient[i] * update.gradient_scale;
    piece.value[i] *= update.keep;
    piece.first[i] = update.beta1 * piece.first[i] + (1 - update.beta1) * g;
    piece.second[i] = update.beta2 * piece.second[i] + (1 - update.beta2) * g * g;
    piece.value[i] -= update.rate * piece.first[i] /
                      (std::sqrt(piece.second[i]) * update.second_scale + update.epsilon);
  }
}

inline double sum_of_squares(const double* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += values[i] * values[i];
  return sum;
}

}  // namespace heed::kernels::reference
