// Kernels of elementwise operators, on contiguous arrays that are already checked.
#pragma once

#include <cstdint>

#include "base/philox.h"
#include "ops/elementwise.h"

namespace heed::kernels::cpu {

void add_to(float* y, const float* x, std::int64_t count);
/// sums[c] += the sum of column c of x [rows, columns], rows in order.
void add_column_sums(float* sums, const float* x, std::int64_t rows, std::int64_t columns);

/// Whether `activate` and `activate_backward` serve this activation.
constexpr bool has_kernel(Activation kind) { return kind <= Activation::kSquaredRelu; }
/// y = f(x).
void activate(Activation kind, const float* x, std::int64_t count, float* y);
/// dy *= f'(x) and y = f(x).
void activate_backward(Activation kind, const float* x, std::int64_t count, float* dy, float* y);

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
