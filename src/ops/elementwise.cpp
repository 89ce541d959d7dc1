#include "ops/elementwise.h"

#include <fmt/format.h>

#include <cmath>

#include "base/blocks.h"
#include "heed/error.h"
#include "ops/kernels/elementwise.h"
#include "ops/kernels/reference/operators.h"
#include "tensor/text.h"

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

// Bound by memory; the compiler vectorises the inner loop.
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

namespace {

// Bound by memory; the compiler vectorises these loops.
constexpr std::int64_t kProductElements = 32768;

void check_product(const ConstView& y) {
  if (y.dtype() != DType::kF32 && y.dtype() != DType::kF64)
    fail("multiply", "y", name(y.dtype()), "f32 or f64");
  if (!y.is_contiguous()) fail("multiply", "y.strides", to_string(y.strides()), "row-major memory");
}

template <typename T>
void multiply(T* y, const T* x, std::int64_t count) {
  in_blocks(count, kProductElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] *= x[i];
  });
}

template <typename T>
void scale(T* y, T factor, std::int64_t count) {
  in_blocks(count, kProductElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] *= factor;
  });
}

}  // namespace

void multiply_by(const View& y, const ConstView& x) {
  check_product(y);
  if (x.dtype() != y.dtype() || x.shape() != y.shape() || !x.is_contiguous())
    fail("multiply", "x", fmt::format("{} {}", name(x.dtype()), to_string(x.shape())),
         fmt::format("{} {}, row-major", name(y.dtype()), to_string(y.shape())));
  if (y.dtype() == DType::kF64)
    return multiply(y.data<double>(), x.data<double>(), y.element_count());
  multiply(y.data<float>(), x.data<float>(), y.element_count());
}

Tensor scaled(Tensor y, double factor) {
  check_product(y);
  if (y.dtype() == DType::kF64)
    scale(y.data<double>(), factor, y.element_count());
  else
    scale(y.data<float>(), static_cast<float>(factor), y.element_count());
  return y;
}

namespace {

constexpr std::int64_t kCapElements = 8192;

void require_plain(const char* op, const char* argument, const ConstView& x) {
  if ((x.dtype() != DType::kF32 && x.dtype() != DType::kF64) || !x.is_contiguous())
    fail(op, argument, to_string(x), "f32 or f64, row-major");
}

void check(const ConstView& x, double cap) {
  require_plain("softcap", "x", x);
  if (!(cap > 0)) fail("softcap", "cap", cap, "above 0");
}

template <typename T>
void cap_each(T* x, T cap, std::int64_t count) {
  in_blocks(count, kCapElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) x[i] = cap * std::tanh(x[i] / cap);
  });
}

template <typename T>
void differentiate(const T* y, T cap, T* dx, std::int64_t count) {
  in_blocks(count, kCapElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) dx[i] *= 1 - (y[i] / cap) * (y[i] / cap);
  });
}

}  // namespace

Tensor softcapped(Tensor x, double cap) {
  check(x, cap);
  if (x.dtype() == DType::kF64)
    cap_each(x.data<double>(), cap, x.element_count());
  else
    cap_each(x.data<float>(), static_cast<float>(cap), x.element_count());
  return x;
}

Tensor softcap_backward(const ConstView& y, double cap, const ConstView& dy) {
  check(y, cap);
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype())
    fail("softcap", "dy", to_string(dy), to_string(y));
  Tensor dx = Tensor::copy_of(dy);
  if (y.dtype() == DType::kF64)
    differentiate(y.data<double>(), cap, dx.data<double>(), y.element_count());
  else
    differentiate(y.data<float>(), static_cast<float>(cap), dx.data<float>(), y.element_count());
  return dx;
}

namespace {

template <typename Use>
void each(const ConstView& like, const Use& use) {
  in_blocks(like.element_count(), kCapElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) use(i);
  });
}

template <typename T>
void clamp_each(T* x, T low, T high, const ConstView& like) {
  each(like, [=](std::int64_t i) { x[i] = x[i] < low ? low : x[i] > high ? high : x[i]; });
}

template <typename T>
void clear_outside(const T* x, T low, T high, T* dy, const ConstView& like) {
  each(like, [=](std::int64_t i) {
    if (x[i] < low || x[i] > high) dy[i] = 0;
  });
}

}  // namespace

Tensor clamped(Tensor x, double low, double high) {
  require_plain("clamp", "x", x);
  if (x.dtype() == DType::kF64)
    clamp_each(x.data<double>(), low, high, x);
  else
    clamp_each(x.data<float>(), static_cast<float>(low), static_cast<float>(high), x);
  return x;
}

Tensor clamp_backward(const ConstView& x, double low, double high, Tensor dy) {
  require_plain("clamp", "x", x);
  if (dy.dtype() != x.dtype() || dy.shape() != x.shape())
    fail("clamp", "dy", to_string(dy), to_string(x));
  if (x.dtype() == DType::kF64)
    clear_outside(x.data<double>(), low, high, dy.data<double>(), x);
  else
    clear_outside(x.data<float>(), static_cast<float>(low), static_cast<float>(high),
                  dy.data<float>(), x);
  return dy;
}

}  // namespace heed
