// The matrix product in plain loops: what the fast one is tested against.
#pragma once

#include "ops/kernels/matmul.h"

namespace heed::kernels::reference {

template <typename T>
void matmul(const MatmulProblem<T>& p) {
  for (std::int64_t i = 0; i < p.rows; ++i) {
    for (std::int64_t j = 0; j < p.columns; ++j) {
      double sum = p.bias != nullptr ? p.bias[j] : 0.0;
      for (std::int64_t k = 0; k < p.inner; ++k)
        sum += static_cast<double>(p.a.data[i * p.a.row + k * p.a.column]) *
               static_cast<double>(p.b.data[k * p.b.row + j * p.b.column]);
      T& out = p.out[i * p.out_row + j];
      out = static_cast<T>(p.accumulate ? out + sum : sum);
    }
  }
}

}  // namespace heed::kernels::reference
