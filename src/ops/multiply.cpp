#include "ops/multiply.h"

#include <fmt/format.h>

#include "base/blocks.h"
#include "heed/error.h"
#include "tensor/shape_text.h"

namespace heed {
namespace {

// Memory bounds these loops, and a compiler makes vectors of them.
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

}  // namespace heed
