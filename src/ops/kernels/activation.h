// Functions of one element, on contiguous arrays; the backward forms do dy *= f'(x) and
// give y = f(x) again.
#pragma once

#include <cstdint>

namespace heed::kernels::cpu {

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
