// The arguments of the RMS norm's kernels: raw pointers and plain data, already checked.
#pragma once

#include <cstdint>

namespace heed::kernels {

template <typename T>
struct RmsNormProblem {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const T* x = nullptr;  // [rows, width]
  const T* weight = nullptr;
  double epsilon = 0;
};

/// dx is written, dweight is added to.
template <typename T>
struct RmsNormBackward {
  const T* dy = nullptr;  // [rows, width]
  T* dx = nullptr;        // [rows, width]
  T* dweight = nullptr;
};

namespace cpu {
void rms_norm(const RmsNormProblem<float>& problem, float* y);
void rms_norm_backward(const RmsNormProblem<float>& problem, const RmsNormBackward<float>& grads);
}  // namespace cpu

}  // namespace heed::kernels
