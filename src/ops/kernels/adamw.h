// The arguments of the optimizer's kernels: raw pointers and plain numbers, already checked.
#pragma once

#include <cstdint>

namespace heed::kernels {

/// One piece of a parameter with its gradient and two moments, `count` elements each.
template <typename T>
struct AdamWPiece {
  T* value = nullptr;
  const T* gradient = nullptr;
  T* first = nullptr;   // running mean of the gradient
  T* second = nullptr;  // running mean of its square
  std::int64_t count = 0;
};

/// One update: the gradient g is multiplied by gradient_scale, then
///   value *= keep;  first = beta1 first + (1 - beta1) g;  second = beta2 second + (1 - beta2) g^2
///   value -= rate * first / (sqrt(second) * second_scale + epsilon)
template <typename T>
struct AdamWUpdate {
  T gradient_scale = 1;
  T keep = 1;  // 1 - learning rate * weight decay
  T beta1 = 0;
  T beta2 = 0;
  T rate = 0;          // learning rate / (1 - beta1^step)
  T second_scale = 1;  // 1 / sqrt(1 - beta2^step)
  T epsilon = 0;
};

void adamw(const AdamWPiece<float>& piece, const AdamWUpdate<float>& update);

/// Sums in f64 over a fixed number of lanes, so that a machine always gives the same value.
double sum_of_squares(const float* values, std::int64_t count);

}  // namespace heed::kernels
