// GELU in f32. With tanh it is x * sigmoid(2 u): one exponential and one division an element, and
// small tails keep their relative precision.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "kernels/activation.h"

#include <algorithm>

#include "heed/base/threads.h"
#include "hwy/highway.h"
#include "kernels/cpu/exp2-inl.h"
#include "kernels/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

constexpr float kInvSqrt2 = 0.70710678118654752F;
constexpr float kInvSqrt2Pi = 0.39894228040143268F;
constexpr float kLog2e = 1.44269504088896341F;
constexpr float kSlope = 1.5957691216057308F;   // 2 sqrt(2 / pi)
constexpr float kCube = 0.071354816272600127F;  // kSlope * 0.044715

HWY_INLINE FloatVector number(float value) { return hn::Set(Floats(), value); }

// e^z for z <= 0. With Highway's Exp, which serves all of f32, GELU took 1.9 times as long.
HWY_INLINE FloatVector exp_of_negative(FloatVector z) {
  return cpu::HWY_NAMESPACE::exp2_of_negative(Floats(), hn::Mul(z, number(kLog2e)));
}

// 1 / x for x in [1, 2], to 2 ulp: an approximation of 11 bits or more and two steps of Newton (one
// where it has 14), for the division's 16 cycles a vector were half of GELU's time.
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

// 1 / (1 + e^-z) where z >= 0, e^z / (1 + e^z) below: the exponential never overflows.
HWY_INLINE FloatVector sigmoid(FloatVector z) {
  const auto power = exp_of_negative(hn::Neg(hn::Abs(z)));
  const auto above = hn::IfThenElse(hn::Lt(z, hn::Zero(Floats())), power, number(1.0F));
  return hn::Mul(above, reciprocal(hn::Add(number(1.0F), power)));
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

void gelu_backward_part(const float* x, std::int64_t count, float* dy) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    const auto power = exp_of_negative(hn::Mul(hn::Mul(value, value), number(-0.5F)));
    const auto density = hn::Mul(power, number(kInvSqrt2Pi));
    store(hn::Mul(load(dy), hn::MulAdd(value, density, normal_share(value))), dy);
  });
}

void gelu_tanh_part(const float* x, std::int64_t count, float* y) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    const auto cubic = hn::MulAdd(hn::Mul(value, value), number(kCube), number(kSlope));
    store(hn::Mul(value, sigmoid(hn::Mul(value, cubic))), y);
  });
}

// d/dx x s(z(x)) = s + x s (1 - s) z'(x).
void gelu_tanh_backward_part(const float* x, std::int64_t count, float* dy) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    const auto value = load(x);
    const auto square = hn::Mul(value, value);
    const auto s = sigmoid(hn::Mul(value, hn::MulAdd(square, number(kCube), number(kSlope))));
    const auto slope = hn::MulAdd(square, number(3 * kCube), number(kSlope));
    const auto bend = hn::Mul(hn::Mul(s, hn::Sub(number(1.0F), s)), hn::Mul(value, slope));
    store(hn::Mul(load(dy), hn::Add(s, bend)), dy);
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

template <typename Part>
void in_parts(std::int64_t count, const Part& part) {
  constexpr std::int64_t kElements = 8192;  // about 10 us a task
  parallel_for((count + kElements - 1) / kElements, [&](std::int64_t index, int /*thread*/) {
    const std::int64_t begin = index * kElements;
    part(begin, std::min(kElements, count - begin));
  });
}

}  // namespace

void cpu::gelu(const float* x, std::int64_t count, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(gelu_part)(x + begin, length, y + begin);
  });
}

void cpu::gelu_backward(const float* x, std::int64_t count, float* dy) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(gelu_backward_part)(x + begin, length, dy + begin);
  });
}

void cpu::gelu_tanh(const float* x, std::int64_t count, float* y) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(gelu_tanh_part)(x + begin, length, y + begin);
  });
}

void cpu::gelu_tanh_backward(const float* x, std::int64_t count, float* dy) {
  in_parts(count, [&](std::int64_t begin, std::int64_t length) {
    HWY_DYNAMIC_DISPATCH(gelu_tanh_backward_part)(x + begin, length, dy + begin);
  });
}

}  // namespace heed::kernels
#endif
