// The arguments of the normalisation kernels: raw pointers and plain data, already checked.
#pragma once

#include <cstdint>

namespace heed::kernels {

/// A norm without a bias is the RMS norm, which subtracts no mean.
template <typename T>
struct NormProblem {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const T* x = nullptr;  // [rows, width]
  const T* weight = nullptr;
  const T* bias = nullptr;
  double epsilon = 0;
};

/// dx is written, dweight and dbias are added to.
template <typename T>
struct NormBackward {
  const T* dy = nullptr;  // [rows, width]
  T* dx = nullptr;        // [rows, width]
  T* dweight = nullptr;
  T* dbias = nullptr;  // null without a bias
};

namespace cpu {
void norm(const NormProblem<float>& problem, float* y);
void norm_backward(const NormProblem<float>& problem, const NormBackward<float>& grads);
}  // namespace cpu

}  // namespace heed::kernels
