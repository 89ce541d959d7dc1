#include <fmt/format.h>

#include "heed/error.h"
#include "ops/elementwise.h"
#include "ops/kernels/elementwise.h"
#include "ops/kernels/reference/operators.h"
#include "tensor/computable.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check(const ConstView& x) {
  if (!is_floating(x.dtype())) fail("activate", "x", name(x.dtype()), "f64, f32, f16 or bf16");
}

// The kernels of an activation: f32 in vectors, f64 one by one.
struct Functions {
  void (*vectors)(const float*, std::int64_t, float*);
  void (*vectors_backward)(const float*, std::int64_t, float*, float*);
  double (*value)(double);
  double (*derivative)(double);
};

const Functions& functions_of(Activation kind) {
  namespace cpu = kernels::cpu;
  namespace reference = kernels::reference;
  static constexpr Functions kFunctions[] = {
      {cpu::gelu, cpu::gelu_backward, reference::gelu, reference::gelu_derivative},
      {cpu::gelu_tanh, cpu::gelu_tanh_backward, reference::gelu_tanh,
       reference::gelu_tanh_derivative},
      {cpu::silu, cpu::silu_backward, reference::silu, reference::silu_derivative},
      {cpu::relu, cpu::relu_backward, reference::relu, reference::relu_derivative},
      {cpu::quick_gelu, cpu::quick_gelu_backward, reference::quick_gelu,
       reference::quick_gelu_derivative},
      {cpu::squared_relu, cpu::squared_relu_backward, reference::squared_relu,
       reference::squared_relu_derivative}};
  return kFunctions[static_cast<std::size_t>(kind)];
}

}  // namespace

Tensor activate(const ConstView& x, Activation kind) {
  check(x);
  const Computable from(x);
  Tensor y = Tensor::empty(x.shape(), computing_type(x.dtype()));
  const std::int64_t count = x.element_count();
  const Functions& functions = functions_of(kind);
  if (y.dtype() == DType::kF32) {
    functions.vectors(from.view().data<float>(), count, y.data<float>());
    return rounded(std::move(y), x.dtype());
  }
  const auto* in = from.view().data<double>();
  for (std::int64_t i = 0; i < count; ++i) y.data<double>()[i] = functions.value(in[i]);
  return y;
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
  const Functions& functions = functions_of(kind);
  if (computing == DType::kF32) {
    functions.vectors_backward(from.view().data<float>(), count, dy.data<float>(), y.data<float>());
    return rounded(std::move(y), x.dtype());
  }
  const auto* in = from.view().data<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    dy.data<double>()[i] *= functions.derivative(in[i]);
    y.data<double>()[i] = functions.value(in[i]);
  }
  return y;
}

}  // namespace heed
