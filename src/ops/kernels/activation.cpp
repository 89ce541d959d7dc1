// GELU, SiLU and ReLU in f32. GELU with tanh is x * sigmoid(2 u): one exponential and one division
// per element, and small tails keep their relative precision. Bound by the FMA ports: 17 uops per
// vector forward, 24 backward.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/activation.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include <cstdint>

#include "hwy/highway.h"
#include "ops/kernels/blocks.h"
#include "ops/kernels/elementwise.h"
#include "simd/exp-inl.h"
#include "simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

constexpr float kInvSqrt2 = 0.70710678118654752F;
constexpr float kInvSqrt2Pi = 0.39894228040143268F;
constexpr float kHalfLog2e = 0.72134752044448170F;
constexpr float kSlope = 1.5957691216057308F;   // 2 sqrt(2 / pi)
constexpr float kCube = 0.071354816272600127F;  // kSlope * 0.044715
constexpr float kSlope2 = 2.3022081981443250F;  // both times log2(e)
constexpr float kCube2 = 0.10294323958002350F;

HWY_INLINE FloatVector number(float value) { return hn::Set(Floats(), value); }

// 1 / x for normal x >= 1, to 2 ulp: an approximation of 11 bits or more and two Newton steps (one
// with 14 bits), because the division's 16 cycles per vector took half of GELU's time.
HWY_INLINE FloatVector reciprocal(FloatVector x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Div(number(1.0F), x);
#else
  auto y = hn::ApproximateReciprocal(x);
  for (int i = 0; i < (HWY_TARGET <= HWY_AVX3 ? 1 : 2); ++i)
    y = hn::MulAdd(y, hn::NegMulAdd(x, y, number(1.0F)), y);
  return y;
#endif
}

// sigmoid(2 u) = 1 / (1 + 2^-z), z = x (kSlope2 + kCube2 x^2). Below z = -120 it stays at 2^-120: a
// Newton step would turn the reciprocal of infinity into NaN. With Highway's Exp, which covers all
// of f32, GELU took 1.9 times as long.
HWY_INLINE FloatVector tanh_share(FloatVector x, FloatVector square) {
  const auto bend = hn::NegMulSub(square, number(kCube2), number(kSlope2));
  const auto negated = hn::Min(number(120.0F), hn::Mul(x, bend));  // this argument order keeps NaN
  return reciprocal(hn::Add(number(1.0F), cpu::HWY_NAMESPACE::exp2(Floats(), negated)));
}

// The rational function of Eigen's erf, |error| < 5e-7; at 4 erf is 1 in f32.
HWY_INLINE FloatVector erf(FloatVector x) {
  x = hn::Clamp(x, number(-4.0F), number(4.0F));
  const auto x2 = hn::Mul(x, x);
  auto p = number(-2.72614225801306e-10F);
  for (const float c : {2.77068142495902e-08F, -2.10102402082508e-06F, -5.69250639462346e-05F,
                        -7.34990630326855e-04F, -2.95459980854025e-03F, -1.60960333262415e-02F})
    p = hn::MulAdd(p, x2, number(c));
  auto q = number(-1.45660718464996e-05F);
  for (const float c : {-2.13374055278905e-04F, -1.68282697438203e-03F, -7.37332916720468e-03F,
                        -1.42647390514189e-02F})
    q = hn::MulAdd(q, x2, number(c));
  return hn::Div(hn::Mul(x, p), q);
}

HWY_INLINE FloatVector normal_share(FloatVector x) {  // Phi(x)
  return hn::MulAdd(number(0.5F), erf(hn::Mul(x, number(kInvSqrt2))), number(0.5F));
}

void gelu_part(const float* x, std::int64_t count, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    store(hn::Mul(value, normal_share(value)), y);
  });
}

void gelu_backward_part(const float* x, std::int64_t count, float* dy, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    const auto share = normal_share(value);
    const auto exponent = hn::Mul(hn::Mul(value, value), number(-kHalfLog2e));
    const auto density = hn::Mul(cpu::HWY_NAMESPACE::exp2(Floats(), exponent), number(kInvSqrt2Pi));
    store(hn::Mul(load(dy), hn::MulAdd(value, density, share)), dy);
    store(hn::Mul(value, share), y);
  });
}

void gelu_tanh_part(const float* x, std::int64_t count, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    store(hn::Mul(value, tanh_share(value, hn::Mul(value, value))), y);
  });
}

// d/dx x s(2 u) = s + (x s) (1 - s) 2 u'(x).
void gelu_tanh_backward_part(const float* x, std::int64_t count, float* dy, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    const auto square = hn::Mul(value, value);
    const auto share = tanh_share(value, square);
    const auto result = hn::Mul(value, share);
    const auto slope = hn::MulAdd(square, number(3 * kCube), number(kSlope));
    const auto bend = hn::Mul(hn::NegMulAdd(result, share, result), slope);
    store(hn::Mul(load(dy), hn::Add(share, bend)), dy);
    store(result, y);
  });
}

// sigmoid(x) = 1 / (1 + 2^-z), z = x log2(e); the bound is that of tanh_share.
HWY_INLINE FloatVector sigmoid(FloatVector x) {
  const auto negated = hn::Min(number(120.0F), hn::Mul(x, number(-kLog2e)));
  return reciprocal(hn::Add(number(1.0F), cpu::HWY_NAMESPACE::exp2(Floats(), negated)));
}

// SiLU with slope 1, quick GELU with 1.702.
void silu_part(const float* x, std::int64_t count, float slope, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    store(hn::Mul(value, sigmoid(hn::Mul(value, number(slope)))), y);
  });
}

// d/dx x s(a x) = s + a (x s) (1 - s).
void silu_backward_part(const float* x, std::int64_t count, float slope, float* dy, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    const auto share = sigmoid(hn::Mul(value, number(slope)));
    const auto result = hn::Mul(value, share);
    const auto bend = hn::Mul(hn::NegMulAdd(result, share, result), number(slope));
    store(hn::Mul(load(dy), hn::Add(share, bend)), dy);
    store(result, y);
  });
}

void relu_part(const float* x, std::int64_t count, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    store(hn::IfThenElse(hn::Lt(value, hn::Zero(Floats())), hn::Zero(Floats()), value), y);
  });
}

void relu_backward_part(const float* x, std::int64_t count, float* dy, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    const auto zero = hn::Zero(Floats());
    store(hn::IfThenElseZero(hn::Gt(value, zero), load(dy)), dy);
    store(hn::IfThenElse(hn::Lt(value, zero), zero, value), y);
  });
}

void squared_relu_part(const float* x, std::int64_t count, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    const auto zero = hn::Zero(Floats());
    const auto positive = hn::IfThenElse(hn::Lt(value, zero), zero, value);
    store(hn::Mul(positive, positive), y);
  });
}

void squared_relu_backward_part(const float* x, std::int64_t count, float* dy, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    const auto zero = hn::Zero(Floats());
    const auto positive = hn::IfThenElse(hn::Lt(value, zero), zero, value);
    store(hn::Mul(hn::Add(positive, positive), load(dy)), dy);
    store(hn::Mul(positive, positive), y);
  });
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(gelu_part);
HWY_EXPORT(gelu_backward_part);
HWY_EXPORT(gelu_tanh_part);
HWY_EXPORT(gelu_tanh_backward_part);
HWY_EXPORT(silu_part);
HWY_EXPORT(silu_backward_part);
HWY_EXPORT(relu_part);
HWY_EXPORT(relu_backward_part);
HWY_EXPORT(squared_relu_part);
HWY_EXPORT(squared_relu_backward_part);

template <typename Part>
void in_parts(std::int64_t count, const Part& part) {
  in_blocks(count, cpu::rows_of_block(1),
            [&](std::int64_t begin, std::int64_t end) { part(begin, end - begin); });
}

}  // namespace

void cpu::gelu(const float* x, std::int64_t count, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(gelu_part)(x + begin, length, y + begin);
  });
}

void cpu::gelu_backward(const float* x, std::int64_t count, float* dy, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(gelu_backward_part)(x + begin, length, dy + begin, y + begin);
  });
}

void cpu::gelu_tanh(const float* x, std::int64_t count, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(gelu_tanh_part)(x + begin, length, y + begin);
  });
}

void cpu::gelu_tanh_backward(const float* x, std::int64_t count, float* dy, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(gelu_tanh_backward_part)(x + begin, length, dy + begin, y + begin);
  });
}

namespace {

constexpr float kQuickGelu = 1.702F;

void sloped_silu(const float* x, std::int64_t count, float slope, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(silu_part)(x + begin, length, slope, y + begin);
  });
}

void sloped_silu_backward(const float* x, std::int64_t count, float slope, float* dy, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(silu_backward_part)(x + begin, length, slope, dy + begin, y + begin);
  });
}

}  // namespace

void cpu::silu(const float* x, std::int64_t count, float* y) { sloped_silu(x, count, 1, y); }

void cpu::silu_backward(const float* x, std::int64_t count, float* dy, float* y) {
  sloped_silu_backward(x, count, 1, dy, y);
}

void cpu::quick_gelu(const float* x, std::int64_t count, float* y) {
  sloped_silu(x, count, kQuickGelu, y);
}

void cpu::quick_gelu_backward(const float* x, std::int64_t count, float* dy, float* y) {
  sloped_silu_backward(x, count, kQuickGelu, dy, y);
}

void cpu::relu(const float* x, std::int64_t count, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(relu_part)(x + begin, length, y + begin);
  });
}

void cpu::relu_backward(const float* x, std::int64_t count, float* dy, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(relu_backward_part)(x + begin, length, dy + begin, y + begin);
  });
}

void cpu::squared_relu(const float* x, std::int64_t count, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(squared_relu_part)(x + begin, length, y + begin);
  });
}

void cpu::squared_relu_backward(const float* x, std::int64_t count, float* dy, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(squared_relu_backward_part)(x + begin, length, dy + begin, y + begin);
  });
}

}  // namespace heed::kernels
#endif
