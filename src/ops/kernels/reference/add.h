// Sums in plain loops.
#pragma once

#include <cstdint>

namespace heed::kernels::reference {

template <typename T>
void add_to(T* y, const T* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += x[i];
}

template <typename T>
void add_column_sums(T* sums, const T* x, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += x[row * columns + c];
}

}  // namespace heed::kernels::reference
