#include "heed/ops/rms_norm.h"

#include <fmt/format.h>

#include "heed/error.h"
#include "ops/kernels/reference/rms_norm.h"
#include "ops/kernels/rms_norm.h"
#include "ops/trailing_axes.h"
#include "tensor/computable.h"
#include "tensor/shape_text.h"
#include "tensor/view_text.h"

namespace heed {
namespace {

void check(const RmsNormArgs& args) {
  const ConstView& x = args.x;
  if (!x.given() || !is_floating(x.dtype()))
    fail("rms_norm", "x", to_string(x), "f64, f32, f16 or bf16");
  if (args.weight.dtype() != x.dtype() || !has_trailing_axes(x.shape(), args.weight.shape()))
    fail("rms_norm", "weight", to_string(args.weight),
         fmt::format("{}, trailing axes of x {} with at least one element", name(x.dtype()),
                     x.shape()));
}

template <typename T>
kernels::RmsNormProblem<T> problem_of(const ConstView& x, const ConstView& weight, double epsilon) {
  const std::int64_t width = weight.element_count();
  return {.rows = x.element_count() / width,
          .width = width,
          .x = x.data<T>(),
          .weight = weight.data<T>(),
          .epsilon = epsilon};
}

}  // namespace

Tensor rms_norm(const RmsNormArgs& args) {
  check(args);
  const Computable x(args.x);
  const Computable weight(args.weight);
  Tensor y = Tensor::empty(args.x.shape(), x.view().dtype());
  if (y.dtype() == DType::kF64)
    kernels::reference::rms_norm(problem_of<double>(x, weight, args.epsilon), y.data<double>());
  else
    kernels::cpu::rms_norm(problem_of<float>(x, weight, args.epsilon), y.data<float>());
  return rounded(std::move(y), args.x.dtype());
}

Tensor rms_norm_backward(const RmsNormArgs& args, const ConstView& dy, const View& dweight) {
  check(args);
  if (dy.shape() != args.x.shape() || dy.dtype() != args.x.dtype())
    fail("rms_norm", "dy", to_string(dy), to_string(args.x));
  const DType computing = computing_type(args.x.dtype());
  if (dweight.shape() != args.weight.shape() || dweight.dtype() != computing ||
      !dweight.is_contiguous())
    fail("rms_norm", "dweight", to_string(dweight),
         fmt::format("{}, row-major", to_string(computing, args.weight.shape())));
  const Computable x(args.x);
  const Computable weight(args.weight);
  const Computable cotangent(dy);
  Tensor dx = Tensor::empty(args.x.shape(), computing);
  if (computing == DType::kF64)
    kernels::reference::rms_norm_backward(
        problem_of<double>(x, weight, args.epsilon),
        {cotangent.view().data<double>(), dx.data<double>(), dweight.data<double>()});
  else
    kernels::cpu::rms_norm_backward(
        problem_of<float>(x, weight, args.epsilon),
        {cotangent.view().data<float>(), dx.data<float>(), dweight.data<float>()});
  return rounded(std::move(dx), args.x.dtype());
}

}  // namespace heed
