#include "ops/add.h"

#include "heed/base/error.h"
#include "kernels/add.h"
#include "kernels/reference/add.h"
#include "tensor/shape_text.h"

namespace heed {
namespace {

void check(const View& to, const ConstView& x) {
  require(x.dtype() == DType::kF32 || x.dtype() == DType::kF64, "add: x is {}, expected f32 or f64",
          name(x.dtype()));
  require(to.dtype() == x.dtype(), "add: the sum is {} but x is {}: types must agree",
          name(to.dtype()), name(x.dtype()));
  require(to.is_contiguous() && x.is_contiguous(), "add: strided views, expected row-major");
}

}  // namespace

void add_to(const View& y, const ConstView& x) {
  check(y, x);
  require(y.shape() == x.shape(), "add: y is {} but x is {}: shapes must agree", y.shape(),
          x.shape());
  if (x.dtype() == DType::kF64)
    return kernels::reference::add_to(y.data<double>(), x.data<double>(), x.element_count());
  kernels::cpu::add_to(y.data<float>(), x.data<float>(), x.element_count());
}

Tensor add(Tensor y, const ConstView& x) {
  add_to(y, x);
  return y;
}

void add_column_sums(const View& sums, const ConstView& x) {
  check(sums, x);
  require(x.rank() >= 1 && sums.shape() == Shape{x.dim(-1)},
          "add: sums are {} but x is {}, expected one sum a column", sums.shape(), x.shape());
  const std::int64_t columns = x.dim(-1);
  if (columns == 0) return;
  const std::int64_t rows = x.element_count() / columns;
  if (x.dtype() == DType::kF64)
    return kernels::reference::add_column_sums(sums.data<double>(), x.data<double>(), rows,
                                               columns);
  kernels::cpu::add_column_sums(sums.data<float>(), x.data<float>(), rows, columns);
}

}  // namespace heed
