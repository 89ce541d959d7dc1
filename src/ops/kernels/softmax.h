// The arguments of the softmax kernels: raw pointers and plain data, already checked.
#pragma once

#include <cstdint>

namespace heed::kernels {

template <typename T>
struct SoftmaxRows {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const T* x = nullptr;   // [rows, width]; in the backward pass the softmax itself
  const T* dy = nullptr;  // [rows, width], in the backward pass
  T* out = nullptr;       // [rows, width]
};

namespace cpu {
void softmax(const SoftmaxRows<float>& problem);
void softmax_backward(const SoftmaxRows<float>& problem);
}  // namespace cpu

}  // namespace heed::kernels
