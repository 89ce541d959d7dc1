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

// sigmoid(x) = 1 / (1 + 2^-z), z = x log2(e); the bound is that of tanh_share.
HWY_INLINE FloatVector sigmoid(FloatVector x) {
  const auto negated = hn::Min(number(120.0F), hn::Mul(x, number(-kLog2e)));
  return reciprocal(hn::Add(number(1.0F), cpu::HWY_NAMESPACE::exp2(Floats(), negated)));
}

// max(x, 0), NaN for NaN.
HWY_INLINE FloatVector positive(FloatVector x) {
  const auto zero = hn::Zero(Floats());
  return hn::IfThenElse(hn::Lt(x, zero), zero, x);
}

// An activation is `value(x)` and `backward(x, dy)`, which makes dy the gradient of x and returns
// the value.
struct Gelu {
  static HWY_INLINE FloatVector value(FloatVector x) { return hn::Mul(x, normal_share(x)); }
  static HWY_INLINE FloatVector backward(FloatVector x, FloatVector& dy) {
    const auto share = normal_share(x);
    const auto exponent = hn::Mul(hn::Mul(x, x), number(-kHalfLog2e));
    const auto density = hn::Mul(cpu::HWY_NAMESPACE::exp2(Floats(), exponent), number(kInvSqrt2Pi));
    dy = hn::Mul(dy, hn::MulAdd(x, density, share));
    return hn::Mul(x, share);
  }
};

// d/dx x s(2 u) = s + (x s) (1 - s) 2 u'(x).
struct GeluTanh {
  static HWY_INLINE FloatVector value(FloatVector x) {
    return hn::Mul(x, tanh_share(x, hn::Mul(x, x)));
  }
  static HWY_INLINE FloatVector backward(FloatVector x, FloatVector& dy) {
    const auto square = hn::Mul(x, x);
    const auto share = tanh_share(x, square);
    const auto result = hn::Mul(x, share);
    const auto slope = hn::MulAdd(square, number(3 * kCube), number(kSlope));
    const auto bend = hn::Mul(hn::NegMulAdd(result, share, result), slope);
    dy = hn::Mul(dy, hn::Add(share, bend));
    return result;
  }
};

// SiLU with slope a = 1, quick GELU with 1.702: d/dx x s(a x) = s + a (x s) (1 - s).
struct SlopedSilu {
  HWY_INLINE FloatVector value(FloatVector x) const {
    return hn::Mul(x, sigmoid(hn::Mul(x, number(slope))));
  }
  HWY_INLINE FloatVector backward(FloatVector x, FloatVector& dy) const {
    const auto share = sigmoid(hn::Mul(x, number(slope)));
    const auto result = hn::Mul(x, share);
    const auto bend = hn::Mul(hn::NegMulAdd(result, share, result), number(slope));
    dy = hn::Mul(dy, hn::Add(share, bend));
    return result;
  }
  float slope;
};

struct Relu {
  static HWY_INLINE FloatVector value(FloatVector x) { return positive(x); }
  static HWY_INLINE FloatVector backward(FloatVector x, FloatVector& dy) {
    dy = hn::IfThenElseZero(hn::Gt(x, hn::Zero(Floats())), dy);
    return positive(x);
  }
};

struct SquaredRelu {
  static HWY_INLINE FloatVector value(FloatVector x) { return hn::Mul(positive(x), positive(x)); }
  static HWY_INLINE FloatVector backward(FloatVector x, FloatVector& dy) {
    const auto root = positive(x);
    dy = hn::Mul(hn::Add(root, root), dy);
    return hn::Mul(root, root);
  }
};

// Calls `use` with the activation.
template <typename Use>
HWY_INLINE void with_activation(Activation kind, const Use& use) {
  switch (kind) {
    case Activation::kGelu:
      return use(Gelu());
    case Activation::kGeluTanh:
      return use(GeluTanh());
    case Activation::kSilu:
      return use(SlopedSilu{1});
    case Activation::kRelu:
      return use(Relu());
    case Activation::kQuickGelu:
      return use(SlopedSilu{1.702F});
    case Activation::kSquaredRelu:
      return use(SquaredRelu());
    default:  // has_kernel() is false
      return;
  }
}

void activate_part(Activation kind, const float* x, std::int64_t count, float* y) {
  with_activation(kind, [&](const auto& activation) HWY_ATTR {
    for_lanes(count, [&](auto load, auto store) HWY_ATTR { store(activation.value(load(x)), y); });
  });
}

void activate_backward_part(Activation kind, const float* x, std::int64_t count, float* dy,
                            float* y) {
  with_activation(kind, [&](const auto& activation) HWY_ATTR {
    for_lanes(count, [&](auto load, auto store) HWY_ATTR {
      auto gradient = load(dy);
      store(activation.backward(load(x), gradient), y);
      store(gradient, dy);
    });
  });
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(activate_part);
HWY_EXPORT(activate_backward_part);

}  // namespace

void cpu::activate(Activation kind, const float* x, std::int64_t count, float* y) {
  in_blocks(count, rows_of_block(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(activate_part)(kind, x + begin, end - begin, y + begin);
  });
}

void cpu::activate_backward(Activation kind, const float* x, std::int64_t count, float* dy,
                            float* y) {
  in_blocks(count, rows_of_block(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(activate_backward_part)
    (kind, x + begin, end - begin, dy + begin, y + begin);
  });
}

}  // namespace heed::kernels
#endif
