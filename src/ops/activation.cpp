#include "heed/ops/activation.h"

#include "heed/base/error.h"
#include "kernels/activation.h"
#include "kernels/reference/activation.h"

namespace heed {
namespace {

void check(const ConstView& x) {
  require(x.dtype() == DType::kF32 || x.dtype() == DType::kF64,
          "activate: x is {}, expected f32 or f64", name(x.dtype()));
  require(x.is_contiguous(), "activate: x is strided, expected row-major");
}

}  // namespace

Tensor activate(const ConstView& x, Activation kind) {
  check(x);
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  const std::int64_t count = x.element_count();
  const bool exact = kind == Activation::kGelu;
  if (x.dtype() == DType::kF32) {
    const auto kernel = exact ? kernels::cpu::gelu : kernels::cpu::gelu_tanh;
    kernel(x.data<float>(), count, y.data<float>());
    return y;
  }
  const auto value = exact ? kernels::reference::gelu : kernels::reference::gelu_tanh;
  for (std::int64_t i = 0; i < count; ++i) y.data<double>()[i] = value(x.data<double>()[i]);
  return y;
}

void activate_backward(const ConstView& x, Activation kind, const View& dy) {
  check(x);
  require(dy.shape() == x.shape() && dy.dtype() == x.dtype() && dy.is_contiguous(),
          "activate: dy is {} {}, expected {} {}, row-major", name(dy.dtype()),
          to_string(dy.shape()), name(x.dtype()), to_string(x.shape()));
  const std::int64_t count = x.element_count();
  const bool exact = kind == Activation::kGelu;
  if (x.dtype() == DType::kF32) {
    const auto kernel = exact ? kernels::cpu::gelu_backward : kernels::cpu::gelu_tanh_backward;
    return kernel(x.data<float>(), count, dy.data<float>());
  }
  const auto derivative =
      exact ? kernels::reference::gelu_derivative : kernels::reference::gelu_tanh_derivative;
  for (std::int64_t i = 0; i < count; ++i) dy.data<double>()[i] *= derivative(x.data<double>()[i]);
}

}  // namespace heed
