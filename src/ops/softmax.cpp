#include <fmt/format.h>

#include <utility>

#include "heed/error.h"
#include "heed/operators.h"
#include "ops/kernels/reference/operators.h"
#include "ops/kernels/rows.h"
#include "tensor/computable.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check(const ConstView& view, const char* what, int axis) {
  if (!view.given() || !is_floating(view.dtype()))
    fail("softmax", what, to_string(view), "f64, f32, f16 or bf16");
  if (-view.rank() > axis || axis >= view.rank())
    fail("softmax", "axis", axis, fmt::format("{} to {}", -view.rank(), view.rank() - 1));
}

// The view with `axis` moved to the end.
ConstView with_last(const ConstView& view, int axis) {
  Shape shape = view.shape();
  Shape strides = view.strides();
  const int from = axis < 0 ? axis + view.rank() : axis;
  std::swap(shape[from], shape[view.rank() - 1]);
  std::swap(strides[from], strides[view.rank() - 1]);
  return {view.raw(), view.dtype(), shape, strides};
}

bool is_last(const ConstView& view, int axis) { return axis == -1 || axis == view.rank() - 1; }

template <typename T>
kernels::SoftmaxRows<T> rows_of(const ConstView& x, const ConstView& dy, Tensor& out) {
  const std::int64_t width = x.dim(-1);
  return {.rows = width == 0 ? 0 : x.element_count() / width,
          .width = width,
          .x = x.data<T>(),
          .dy = dy.given() ? dy.data<T>() : nullptr,
          .out = out.data<T>()};
}

// Passes lines along `axis` as rows through `run32` or `run64`, and restores the layout.
template <typename Run32, typename Run64>
Tensor along(int axis, const ConstView& x, const ConstView& dy, const Run32& run32,
             const Run64& run64) {
  const Computable rows(with_last(x, axis));
  const Computable cotangent(dy.given() ? with_last(dy, axis) : ConstView());
  Tensor out = Tensor::empty(rows.view().shape(), rows.view().dtype());
  if (out.dtype() == DType::kF64)
    run64(rows_of<double>(rows, cotangent, out));
  else
    run32(rows_of<float>(rows, cotangent, out));
  if (!is_last(x, axis)) out = Tensor::copy_of(with_last(out, axis));
  return rounded(std::move(out), x.dtype());
}

}  // namespace

Tensor softmax(const ConstView& x, int axis) {
  check(x, "x", axis);
  return along(axis, x, {}, kernels::cpu::softmax, kernels::reference::softmax<double>);
}

Tensor softmax_backward(const ConstView& y, const ConstView& dy, int axis) {
  check(y, "y", axis);
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype())
    fail("softmax", "dy", to_string(dy), to_string(y));
  return along(axis, y, dy, kernels::cpu::softmax_backward,
               kernels::reference::softmax_backward<double>);
}

}  // namespace heed
