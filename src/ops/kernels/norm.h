// The arguments of the normalisation kernels: raw pointers and plain data, already checked.
#pragma once

#include <cstdint>

namespace heed::kernels {

template <typename T>
struct LayerNormProblem {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const T* x = nullptr;  // [rows, width]
  const T* weight = nullptr;
  const T* bias = nullptr;
  double epsilon = 0;
};

/// dx is written, dweight and dbias are added to.
template <typename T>
struct LayerNormBackward {
  const T* dy = nullptr;  // [rows, width]
  T* dx = nullptr;        // [rows, width]
  T* dweight = nullptr;
  T* dbias = nullptr;
};

namespace cpu {
void layer_norm(const LayerNormProblem<float>& problem, float* y);
void layer_norm_backward(const LayerNormProblem<float>& problem,
                         const LayerNormBackward<float>& grads);
}  // namespace cpu

}  // namespace heed::kernels
