// Kernels of elementwise operators, on contiguous arrays that are already checked.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace heed::kernels::cpu {

void add_to(float* y, const float* x, std::int64_t count);
/// sums[c] += the sum of column c of x [rows, columns], rows in order.
void add_column_sums(float* sums, const float* x, std::int64_t rows, std::int64_t columns);

void gelu(const float* x, std::int64_t count, float* y);
void gelu_backward(const float* x, std::int64_t count, float* dy, float* y);
void gelu_tanh(const float* x, std::int64_t count, float* y);
void gelu_tanh_backward(const float* x, std::int64_t count, float* dy, float* y);
void silu(const float* x, std::int64_t count, float* y);
void silu_backward(const float* x, std::int64_t count, float* dy, float* y);
void quick_gelu(const float* x, std::int64_t count, float* y);
void quick_gelu_backward(const float* x, std::int64_t count, float* dy, float* y);
void relu(const float* x, std::int64_t count, float* y);
void relu_backward(const float* x, std::int64_t count, float* dy, float* y);
void squared_relu(const float* x, std::int64_t count, float* y);
void squared_relu_backward(const float* x, std::int64_t count, float* dy, float* y);

}  // namespace heed::kernels::cpu

namespace heed::kernels {

template <typename T>
struct DropoutProblem {
  T* x = nullptr;
  std::int64_t count = 0;
  std::int64_t first = 0;  // the place of x[0] in the whole
  PhiloxKey key = {};
  std::uint32_t site = 0;
  std::uint32_t threshold = 0;  // words below it drop the element
  double scale = 1;             // factor of kept elements
};

namespace cpu {
void dropout(const DropoutProblem<float>& problem);
}  // namespace cpu

}  // namespace heed::kernels
