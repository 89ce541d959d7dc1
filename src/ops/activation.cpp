#include "ops/activation.h"

#include <fmt/format.h>

#include "heed/base/error.h"
#include "kernels/activation.h"
#include "kernels/reference/activation.h"
#include "ops/computable.h"
#include "tensor/shape_text.h"
#include "tensor/view_text.h"

namespace heed {
namespace {

void check(const ConstView& x) {
  if (!is_floating(x.dtype())) fail("activate", "x", name(x.dtype()), "f64, f32, f16 or bf16");
}

}  // namespace

Tensor activate(const ConstView& x, Activation kind) {
  check(x);
  const Computable from(x);
  Tensor y = Tensor::empty(x.shape(), computing_type(x.dtype()));
  const std::int64_t count = x.element_count();
  const bool exact = kind == Activation::kGelu;
  if (y.dtype() == DType::kF32) {
    const auto kernel = exact ? kernels::cpu::gelu : kernels::cpu::gelu_tanh;
    kernel(from.view().data<float>(), count, y.data<float>());
    return rounded(std::move(y), x.dtype());
  }
  const auto value = exact ? kernels::reference::gelu : kernels::reference::gelu_tanh;
  const auto* in = from.view().data<double>();
  for (std::int64_t i = 0; i < count; ++i) y.data<double>()[i] = value(in[i]);
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
  const bool exact = kind == Activation::kGelu;
  if (computing == DType::kF32) {
    const auto kernel = exact ? kernels::cpu::gelu_backward : kernels::cpu::gelu_tanh_backward;
    kernel(from.view().data<float>(), count, dy.data<float>(), y.data<float>());
    return rounded(std::move(y), x.dtype());
  }
  const auto value = exact ? kernels::reference::gelu : kernels::reference::gelu_tanh;
  const auto derivative =
      exact ? kernels::reference::gelu_derivative : kernels::reference::gelu_tanh_derivative;
  const auto* in = from.view().data<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    dy.data<double>()[i] *= derivative(in[i]);
    y.data<double>()[i] = value(in[i]);
  }
  return y;
}

}  // namespace heed
