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
      {reference::squared_relu, reference::squared_relu_derivative}};
  return kFunctions[static_cast<std::size_t>(kind)];
}

}  // namespace

Tensor activate(const ConstView& x, Activation kind) {
  check(x);
  const Computable from(x);
  Tensor y = Tensor::empty(x.shape(), computing_type(x.dtype()));
  const std::int64_t count = x.element_count();
  if (y.dtype() == DType::kF32) {
    kernels::cpu::activate(kind, from.view().data<float>(), count, y.data<float>());
    return rounded(std::move(y), x.dtype());
  }
  const Functions& functions = functions_of(kind);
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
  if (computing == DType::kF32) {
    kernels::cpu::activate_backward(kind, from.view().data<float>(), count, dy.data<float>(),
                                    y.data<float>());
    return rounded(std::move(y), x.dtype());
  }
  const Functions& functions = functions_of(kind);
  const auto* in = from.view().data<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    dy.data<double>()[i] *= functions.derivative(in[i]);
    y.data<double>()[i] = functions.value(in[i]);
  }
  return y;
}

}  // namespace heed
