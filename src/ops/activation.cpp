#include <fmt/format.h>

#include "heed/error.h"
#include "ops/elementwise.h"
#include "ops/kernels/blocks.h"
#include "ops/kernels/elementwise.h"
#include "ops/kernels/reference/operators.h"
#include "tensor/computable.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check(const ConstView& x) {
  if (!is_floating(x.dtype())) fail("activate", "x", name(x.dtype()), "f64, f32, f16 or bf16");
}

// The functions in f64, one number at a time.
struct Functions {
  double (*value)(double);
  double (*derivative)(double);
};

const Functions& functions_of(Activation kind) {
  namespace reference = kernels::reference;
  static constexpr Functions kFunctions[] = {
      {reference::gelu, reference::gelu_derivative},
      {reference::gelu_tanh, reference::gelu_tanh_derivative},
      {reference::silu, reference::silu_derivative},
      {reference::relu, reference::relu_derivative},
      {reference::quick_gelu, reference::quick_gelu_derivative},
      {reference::squared_relu, reference::squared_relu_derivative},
      {reference::tanh, reference::tanh_derivative},
      {reference::sigmoid, reference::sigmoid_derivative},
      {reference::mish, reference::mish_derivative},
      {reference::leaky_relu, reference::leaky_relu_derivative},
      {reference::relu6, reference::relu6_derivative},
      {reference::clipped_gelu, reference::clipped_gelu_derivative},
      {reference::hard_swish, reference::hard_swish_derivative},
      {reference::laplace, reference::laplace_derivative},
      {reference::linear, reference::linear_derivative}};
  return kFunctions[static_cast<std::size_t>(kind)];
}

template <typename T>
void activate_in_f64(Activation kind, const T* x, std::int64_t count, T* y) {
  const Functions& functions = functions_of(kind);
  in_blocks(count, kernels::cpu::rows_of_block(1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(functions.value(x[i]));
  });
}

template <typename T>
void activate_backward_in_f64(Activation kind, const T* x, std::int64_t count, T* dy, T* y) {
  const Functions& functions = functions_of(kind);
  in_blocks(count, kernels::cpu::rows_of_block(1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      dy[i] = static_cast<T>(dy[i] * functions.derivative(x[i]));
      y[i] = static_cast<T>(functions.value(x[i]));
    }
  });
}

}  // namespace

Tensor activate(const ConstView& x, Activation kind) {
  check(x);
  const Computable from(x);
  Tensor y = Tensor::empty(x.shape(), computing_type(x.dtype()));
  const std::int64_t count = x.element_count();
  if (y.dtype() == DType::kF64) {
    activate_in_f64(kind, from.view().data<double>(), count, y.data<double>());
    return y;
  }
  const auto activate_f32 =
      kernels::cpu::has_kernel(kind) ? kernels::cpu::activate : activate_in_f64<float>;
  activate_f32(kind, from.view().data<float>(), count, y.data<float>());
  return rounded(std::move(y), x.dtype());
}

Tensor activate_backward(const ConstView& x, Activation kind, const View& dy) {
  check(x);
  const DType computing = computing_type(x.dtype());
  if (dy.shape() != x.shape() || dy.dtype() != computing || !dy.is_contiguous())
    fail("activate", "dy", to_string(dy),
         fmt::format("{}, row-major", to_string(computing, x.shape())));
  const Computable from(x);
  Tensor y = Tensor::empty(x.shape(), computing);
  const std::int64_t count = x.element_count();
  if (computing == DType::kF64) {
    activate_backward_in_f64(kind, from.view().data<double>(), count, dy.data<double>(),
                             y.data<double>());
    return y;
  }
  const auto backward_f32 = kernels::cpu::has_kernel(kind) ? kernels::cpu::activate_backward
                                                           : activate_backward_in_f64<float>;
  backward_f32(kind, from.view().data<float>(), count, dy.data<float>(), y.data<float>());
  return rounded(std::move(y), x.dtype());
}

}  // namespace heed
