#include "ops/softcap.h"

#include <cmath>

#include "base/blocks.h"
#include "heed/error.h"
#include "tensor/view_text.h"

namespace heed {
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
