#include "ops/softcap.h"

#include <cmath>

#include "base/blocks.h"
#include "heed/error.h"
#include "tensor/view_text.h"

namespace heed {
namespace {

constexpr std::int64_t kCapElements = 8192;

void check(const ConstView& x, double cap) {
  if ((x.dtype() != DType::kF32 && x.dtype() != DType::kF64) || !x.is_contiguous())
    fail("softcap", "x", to_string(x), "f32 or f64, row-major");
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

}  // namespace heed
