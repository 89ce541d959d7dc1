#include "heed/ops/norm.h"

#include "heed/base/error.h"
#include "kernels/norm.h"
#include "kernels/reference/norm.h"

namespace heed {
namespace {

void check_like_width(const ConstView& vector, const char* name_of_it, const ConstView& x) {
  require(vector.shape() == Shape{x.dim(-1)} && vector.dtype() == x.dtype(),
          "layer_norm: {} is {} {}, expected {} [{}]", name_of_it, name(vector.dtype()),
          to_string(vector.shape()), name(x.dtype()), x.dim(-1));
  require(vector.is_contiguous(), "layer_norm: {} is strided, expected contiguous", name_of_it);
}

void check(const LayerNormArgs& args) {
  const ConstView& x = args.x;
  require(x.dtype() == DType::kF32 || x.dtype() == DType::kF64,
          "layer_norm: x is {}, expected f32 or f64", name(x.dtype()));
  require(x.rank() >= 1 && x.dim(-1) >= 1 && x.is_contiguous(),
          "layer_norm: x is {}, expected row-major rows of at least one element",
          to_string(x.shape()));
  check_like_width(args.weight, "weight", x);
  check_like_width(args.bias, "bias", x);
}

template <typename T>
kernels::LayerNormProblem<T> problem_of(const LayerNormArgs& args) {
  return {.rows = args.x.element_count() / args.x.dim(-1),
          .width = args.x.dim(-1),
          .x = args.x.data<T>(),
          .weight = args.weight.data<T>(),
          .bias = args.bias.data<T>(),
          .epsilon = args.epsilon};
}

template <typename T>
kernels::LayerNormBackward<T> backward_of(const ConstView& dy, Tensor& dx,
                                          const LayerNormGrads& add_to) {
  return {.dy = dy.data<T>(),
          .dx = dx.data<T>(),
          .dweight = add_to.dweight.data<T>(),
          .dbias = add_to.dbias.data<T>()};
}

}  // namespace

Tensor layer_norm(const LayerNormArgs& args) {
  check(args);
  Tensor y = Tensor::empty(args.x.shape(), args.x.dtype());
  if (args.x.dtype() == DType::kF64) {
    kernels::reference::layer_norm(problem_of<double>(args), y.data<double>());
  } else {
    kernels::cpu::layer_norm(problem_of<float>(args), y.data<float>());
  }
  return y;
}

Tensor layer_norm_backward(const LayerNormArgs& args, const ConstView& dy,
                           const LayerNormGrads& add_to) {
  check(args);
  require(dy.shape() == args.x.shape() && dy.dtype() == args.x.dtype() && dy.is_contiguous(),
          "layer_norm: dy is {} {}, expected {} {}, row-major", name(dy.dtype()),
          to_string(dy.shape()), name(args.x.dtype()), to_string(args.x.shape()));
  check_like_width(add_to.dweight, "dweight", args.x);
  check_like_width(add_to.dbias, "dbias", args.x);
  Tensor dx = Tensor::empty(args.x.shape(), args.x.dtype());
  if (args.x.dtype() == DType::kF64) {
    kernels::reference::layer_norm_backward(problem_of<double>(args),
                                            backward_of<double>(dy, dx, add_to));
  } else {
    kernels::cpu::layer_norm_backward(problem_of<float>(args), backward_of<float>(dy, dx, add_to));
  }
  return dx;
}

}  // namespace heed
