// Sums of contiguous arrays.
#pragma once

#include <cstdint>

namespace heed::kernels::cpu {

void add_to(float* y, const float* x, std::int64_t count);
/// sums[c] += the sum of column c of x [rows, columns], rows in order.
void add_column_sums(float* sums, const float* x, std::int64_t rows, std::int64_t columns);

}  // namespace heed::kernels::cpu
