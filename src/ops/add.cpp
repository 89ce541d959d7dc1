#include "ops/add.h"

#include <fmt/format.h>

#include "base/blocks.h"
#include "heed/error.h"
#include "ops/kernels/add.h"
#include "ops/kernels/reference/add.h"
#include "tensor/shape_text.h"

namespace heed {
namespace {

void check(std::string_view name_of_it, const View& to, const ConstView& x) {
  if (x.dtype() != DType::kF32 && x.dtype() != DType::kF64)
    fail("add", "x", name(x.dtype()), "f32 or f64");
  if (to.dtype() != x.dtype())
    fail("add", name_of_it, name(to.dtype()), fmt::format("{} (x's type)", name(x.dtype())));
  if (!to.is_contiguous() || !x.is_contiguous())
    fail("add", to.is_contiguous() ? "x.strides" : fmt::format("{}.strides", name_of_it),
         to_string(to.is_contiguous() ? x.strides() : to.strides()), "row-major memory");
}

}  // namespace

void add_to(const View& y, const ConstView& x) {
  check("y", y, x);
  if (y.shape() != x.shape())
    fail("add", "y.shape", to_string(y.shape()), fmt::format("{} (x's)", x.shape()));
  if (x.dtype() == DType::kF64)
    return kernels::reference::add_to(y.data<double>(), x.data<double>(), x.element_count());
  kernels::cpu::add_to(y.data<float>(), x.data<float>(), x.element_count());
}

Tensor add(Tensor y, const ConstView& x) {
  add_to(y, x);
  return y;
}

namespace {

// Memory bounds it, and a compiler makes vectors of the inner loop.
template <typename T>
void add_to_rows(T* y, const T* row, std::int64_t rows, std::int64_t columns) {
  for_rows(rows, [&](std::int64_t r) {
    for (std::int64_t c = 0; c < columns; ++c) y[r * columns + c] += row[c];
  });
}

}  // namespace

Tensor add_number(Tensor y, double number) {
  for (std::int64_t i = 0; i < y.element_count(); ++i) {
    if (y.dtype() == DType::kF64)
      y.data<double>()[i] += number;
    else
      y.data<float>()[i] += static_cast<float>(number);
  }
  return y;
}

Tensor add_row(Tensor y, const ConstView& row) {
  check("y", y, row);
  if (y.rank() < 1 || row.element_count() != y.dim(-1))
    fail("add", "row.shape", to_string(row.shape()), "one element for each column of y");
  const std::int64_t rows = row.element_count() == 0 ? 0 : y.element_count() / y.dim(-1);
  if (y.dtype() == DType::kF64)
    add_to_rows(y.data<double>(), row.data<double>(), rows, y.dim(-1));
  else
    add_to_rows(y.data<float>(), row.data<float>(), rows, y.dim(-1));
  return y;
}

void add_column_sums(const View& sums, const ConstView& x) {
  check("sums", sums, x);
  if (x.rank() < 1 || sums.shape() != Shape{x.dim(-1)})
    fail("add", "sums.shape", to_string(sums.shape()), "one sum for each column of x");
  const std::int64_t columns = x.dim(-1);
  if (columns == 0) return;
  const std::int64_t rows = x.element_count() / columns;
  if (x.dtype() == DType::kF64)
    return kernels::reference::add_column_sums(sums.data<double>(), x.data<double>(), rows,
                                               columns);
  kernels::cpu::add_column_sums(sums.data<float>(), x.data<float>(), rows, columns);
}

}  // namespace heed
