#include "ops/kernels/norm.h"

#include <fmt/format.h>

#include "heed/error.h"
#include "heed/operators.h"
#include "ops/kernels/reference/norm.h"
#include "tensor/computable.h"
#include "tensor/text.h"

namespace heed {
namespace {

// Whether `tail`, of at least one axis and one element, is the shape of trailing axes of `shape`.
bool has_trailing_axes(const Shape& shape, const Shape& tail) {
  const int missing = shape.rank() - tail.rank();
  if (missing < 0 || tail.rank() == 0 || tail.element_count() == 0) return false;
  for (int axis = 0; axis < tail.rank(); ++axis)
    if (tail[axis] != shape[missing + axis]) return false;
  return true;
}

void check_like(const ConstView& vector, const char* name_of_it, const Shape& shape, DType dtype) {
  if (vector.shape() != shape || vector.dtype() != dtype)
    fail("layer_norm", name_of_it, to_string(vector), to_string(dtype, shape));
}

void check(const LayerNormArgs& args) {
  const ConstView& x = args.x;
  if (!is_floating(x.dtype())) fail("layer_norm", "x", name(x.dtype()), "f64, f32, f16 or bf16");
  if (!has_trailing_axes(x.shape(), args.weight.shape()))
    fail("layer_norm", "weight.shape", to_string(args.weight.shape()),
         fmt::format("trailing axes of x {} with at least one element", x.shape()));
  check_like(args.weight, "weight", args.weight.shape(), x.dtype());
  check_like(args.bias, "bias", args.weight.shape(), x.dtype());
}

void check_gradient(const View& gradient, const char* name_of_it, const LayerNormArgs& args) {
  check_like(gradient, name_of_it, args.weight.shape(), computing_type(args.x.dtype()));
  if (!gradient.is_contiguous())
    fail("layer_norm", fmt::format("{}.strides", name_of_it), to_string(gradient.strides()),
         "row-major memory");
}

void check(const RmsNormArgs& args) {
  const ConstView& x = args.x;
  if (!x.given() || !is_floating(x.dtype()))
    fail("rms_norm", "x", to_string(x), "f64, f32, f16 or bf16");
  if (args.weight.dtype() != x.dtype() || !has_trailing_axes(x.shape(), args.weight.shape()))
    fail("rms_norm", "weight", to_string(args.weight),
         fmt::format("{}, trailing axes of x {} with at least one element", name(x.dtype()),
                     x.shape()));
}

// The operands in the kernels' form; without a bias for the RMS norm.
struct NormOperands {
  explicit NormOperands(const LayerNormArgs& args)
      : x(args.x), weight(args.weight), bias(args.bias), epsilon(args.epsilon) {}
  explicit NormOperands(const RmsNormArgs& args)
      : x(args.x), weight(args.weight), bias({}), epsilon(args.epsilon) {}

  template <typename T>
  kernels::NormProblem<T> problem() const {
    const std::int64_t width = weight.view().element_count();
    return {.rows = x.view().element_count() / width,
            .width = width,
            .x = x.view().data<T>(),
            .weight = weight.view().data<T>(),
            .bias = bias.view().given() ? bias.view().data<T>() : nullptr,
            .epsilon = epsilon};
  }

  Computable x, weight, bias;
  double epsilon;
};

Tensor norm(const NormOperands& operands, DType dtype) {
  Tensor y = Tensor::empty(operands.x.view().shape(), computing_type(dtype));
  if (y.dtype() == DType::kF64)
    kernels::reference::norm(operands.problem<double>(), y.data<double>());
  else
    kernels::cpu::norm(operands.problem<float>(), y.data<float>());
  return rounded(std::move(y), dtype);
}

Tensor norm_backward(const NormOperands& operands, const ConstView& dy,
                     const LayerNormGrads& add_to) {
  const Computable cotangent(dy);
  Tensor dx = Tensor::empty(dy.shape(), computing_type(dy.dtype()));
  const auto backward = [&]<typename T>(T /*zero*/) {
    return kernels::NormBackward<T>{
        .dy = cotangent.view().data<T>(),
        .dx = dx.data<T>(),
        .dweight = add_to.dweight.data<T>(),
        .dbias = add_to.dbias.given() ? add_to.dbias.data<T>() : nullptr};
  };
  if (dx.dtype() == DType::kF64)
    kernels::reference::norm_backward(operands.problem<double>(), backward(0.0));
  else
    kernels::cpu::norm_backward(operands.problem<float>(), backward(0.0F));
  return rounded(std::move(dx), dy.dtype());
}

template <typename T>
void fill_statistics(const kernels::NormProblem<T>& p, LayerNormStatistics& statistics) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const auto found = kernels::reference::row_statistics(p, row);
    statistics.mean.data<T>()[row] = static_cast<T>(found.mean);
    statistics.inverse_deviation.data<T>()[row] = static_cast<T>(found.inverse_deviation);
  }
}

}  // namespace

Tensor layer_norm(const LayerNormArgs& args) {
  check(args);
  return norm(NormOperands(args), args.x.dtype());
}

Tensor layer_norm_backward(const LayerNormArgs& args, const ConstView& dy,
                           const LayerNormGrads& add_to) {
  check(args);
  if (dy.shape() != args.x.shape() || dy.dtype() != args.x.dtype())
    fail("layer_norm", "dy", to_string(dy), to_string(args.x));
  check_gradient(add_to.dweight, "dweight", args);
  check_gradient(add_to.dbias, "dbias", args);
  return norm_backward(NormOperands(args), dy, add_to);
}

LayerNormStatistics layer_norm_statistics(const LayerNormArgs& args) {
  check(args);
  const NormOperands operands(args);
  const auto leading = static_cast<std::size_t>(args.x.rank() - args.weight.rank());
  const Shape rows(std::span(args.x.shape().begin(), leading));
  const DType dtype = computing_type(args.x.dtype());
  LayerNormStatistics statistics = {Tensor::empty(rows, dtype), Tensor::empty(rows, dtype)};
  if (dtype == DType::kF64)
    fill_statistics(operands.problem<double>(), statistics);
  else
    fill_statistics(operands.problem<float>(), statistics);
  return statistics;
}

Tensor rms_norm(const RmsNormArgs& args) {
  check(args);
  return norm(NormOperands(args), args.x.dtype());
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
  return norm_backward(NormOperands(args), dy, {.dweight = dweight});
}

}  // namespace heed
