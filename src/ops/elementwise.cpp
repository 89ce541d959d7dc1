#include "ops/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/blocks.h"
#include "heed/error.h"
#include "ops/kernels/elementwise.h"
#include "ops/kernels/reference/operators.h"
#include "tensor/computable.h"
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

constexpr std::int64_t kElements = 16384;  // of a task

// `use(i)` for each element. Bound by memory; the compiler vectorises these loops.
void for_elements(std::int64_t count, const auto& use) {
  in_blocks(count, kElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) use(i);
  });
}

}  // namespace

Tensor add_number(Tensor y, double number) {
  in_computing_type(y.dtype(), [&]<typename T>(T /*zero*/) {
    for (std::int64_t i = 0; i < y.element_count(); ++i) y.data<T>()[i] += static_cast<T>(number);
  });
  return y;
}

Tensor add_row(Tensor y, const ConstView& row) {
  check("y", y, row);
  if (y.rank() < 1 || row.element_count() != y.dim(-1))
    fail("add", "row.shape", to_string(row.shape()), "one element for each column of y");
  const std::int64_t columns = y.dim(-1);
  const std::int64_t rows = columns == 0 ? 0 : y.element_count() / columns;
  in_computing_type(y.dtype(), [&]<typename T>(T /*zero*/) {
    T* const to = y.data<T>();
    for_rows(rows, [&, from = row.data<T>()](std::int64_t r) {
      for (std::int64_t c = 0; c < columns; ++c) to[r * columns + c] += from[c];
    });
  });
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

void check_product(const ConstView& y) {
  if (y.dtype() != DType::kF32 && y.dtype() != DType::kF64)
    fail("multiply", "y", name(y.dtype()), "f32 or f64");
  if (!y.is_contiguous()) fail("multiply", "y.strides", to_string(y.strides()), "row-major memory");
}

}  // namespace

void multiply_by(const View& y, const ConstView& x) {
  check_product(y);
  if (x.dtype() != y.dtype() || x.shape() != y.shape() || !x.is_contiguous())
    fail("multiply", "x", fmt::format("{} {}", name(x.dtype()), to_string(x.shape())),
         fmt::format("{} {}, row-major", name(y.dtype()), to_string(y.shape())));
  in_computing_type(y.dtype(), [&]<typename T>(T /*zero*/) {
    for_elements(y.element_count(),
                 [to = y.data<T>(), from = x.data<T>()](std::int64_t i) { to[i] *= from[i]; });
  });
}

Tensor scaled(Tensor y, double factor) {
  check_product(y);
  in_computing_type(y.dtype(), [&]<typename T>(T /*zero*/) {
    for_elements(y.element_count(),
                 [to = y.data<T>(), by = static_cast<T>(factor)](std::int64_t i) { to[i] *= by; });
  });
  return y;
}

namespace {

void require_plain(const char* op, const char* argument, const ConstView& x) {
  if ((x.dtype() != DType::kF32 && x.dtype() != DType::kF64) || !x.is_contiguous())
    fail(op, argument, to_string(x), "f32 or f64, row-major");
}

void check(const ConstView& x, double cap) {
  require_plain("softcap", "x", x);
  if (!(cap > 0)) fail("softcap", "cap", cap, "above 0");
}

}  // namespace

Tensor softcapped(Tensor x, double cap) {
  check(x, cap);
  in_computing_type(x.dtype(), [&]<typename T>(T /*zero*/) {
    for_elements(x.element_count(), [to = x.data<T>(), most = static_cast<T>(cap)](std::int64_t i) {
      to[i] = most * std::tanh(to[i] / most);
    });
  });
  return x;
}

Tensor softcap_backward(const ConstView& y, double cap, const ConstView& dy) {
  check(y, cap);
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype())
    fail("softcap", "dy", to_string(dy), to_string(y));
  Tensor dx = Tensor::copy_of(dy);
  in_computing_type(y.dtype(), [&]<typename T>(T /*zero*/) {
    T* const to = dx.data<T>();
    for_elements(y.element_count(),
                 [=, of = y.data<T>(), most = static_cast<T>(cap)](std::int64_t i) {
                   to[i] *= 1 - (of[i] / most) * (of[i] / most);
                 });
  });
  return dx;
}

Tensor clamped(Tensor x, double low, double high) {
  require_plain("clamp", "x", x);
  in_computing_type(x.dtype(), [&]<typename T>(T /*zero*/) {
    const auto least = static_cast<T>(low), most = static_cast<T>(high);
    for_elements(x.element_count(), [=, to = x.data<T>()](std::int64_t i) {
      to[i] = to[i] < least ? least : to[i] > most ? most : to[i];
    });
  });
  return x;
}

Tensor clamp_backward(const ConstView& x, double low, double high, Tensor dy) {
  require_plain("clamp", "x", x);
  if (dy.dtype() != x.dtype() || dy.shape() != x.shape())
    fail("clamp", "dy", to_string(dy), to_string(x));
  in_computing_type(x.dtype(), [&]<typename T>(T /*zero*/) {
    const auto least = static_cast<T>(low), most = static_cast<T>(high);
    for_elements(x.element_count(), [=, of = x.data<T>(), to = dy.data<T>()](std::int64_t i) {
      if (of[i] < least || of[i] > most) to[i] = 0;
    });
  });
  return dy;
}

namespace {

template <typename T>
kernels::DropoutProblem<T> problem_of(const View& x, const ElementDropout& args) {
  const double threshold = std::min(std::nearbyint(args.rate * 0x1p32), 0x1p32 - 1);
  return {.x = x.data<T>(),
          .count = x.element_count(),
          .first = args.first,
          .key = philox_key(args.seed),
          .site = args.site,
          .threshold = static_cast<std::uint32_t>(threshold),
          .scale = 1 / (1 - args.rate)};
}

}  // namespace

void dropout(const View& x, const ElementDropout& args) {
  if (!(args.rate >= 0 && args.rate < 1))
    fail("dropout", "rate", args.rate, "0 or more and below 1");
  if (args.first < 0) fail("dropout", "first", args.first, "0 or more");
  if (x.dtype() != DType::kF32 && x.dtype() != DType::kF64)
    fail("dropout", "x", name(x.dtype()), "f32 or f64");
  if (!x.is_contiguous()) fail("dropout", "x.strides", to_string(x.strides()), "row-major memory");
  if (x.dtype() == DType::kF64) return kernels::reference::dropout(problem_of<double>(x, args));
  kernels::cpu::dropout(problem_of<float>(x, args));
}

}  // namespace heed
