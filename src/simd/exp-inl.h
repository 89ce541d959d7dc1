// 2^x and e^x, the only transcendental functions of the softmax and of GELU. Included once for each
// target.
#if defined(HEED_KERNELS_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_EXP_INL_H
#undef HEED_KERNELS_EXP_INL_H
#else
#define HEED_KERNELS_EXP_INL_H
#endif

#include <numbers>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// For x < 127. Relative error at most 1.5e-7; 2^0 is exactly 1; -inf and all below -126 give 0;
/// NaN stays NaN. p(f) 2^n with n = floor(x), f = x - n in [0, 1]; p is the minimax polynomial of
/// the relative error (8.2e-8) among those with p(0) = 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2(D d, V x) {
#if HWY_TARGET == HWY_AVX3
  // Highway has neither instruction: x - floor(x) in one uop, p 2^floor(x) in another.
  const V f{_mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF)};
#else
  const V n = hn::Floor(x);
  const V f = hn::Sub(x, n);
#endif
  V p = hn::Set(d, 0x1.e974fap-10f);
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.277856p-7f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.c91ce6p-5f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.ebdb56p-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.62e4bap-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_scalef_ps(p.raw, x.raw)};
#else
  // Multiplies by the power instead of adding to the exponent: adding to the bits of a NaN would
  // make it a number.
  const hn::RebindToSigned<D> di;
  const V shifted = hn::Add(n, hn::Set(d, 0x1.8p23f + 127));  // the biased exponent in the low bits
  const V scaled = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -126.0f)), scaled);
#endif
}

/// e^x = 2^(n + f) with |f| <= 1/2 in double; e^(f ln 2) by Taylor, whose remainder is below half
/// an ulp; 2^n by its exponent bits. Results below the normal numbers are 0, NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_in_double(D d, V x) {
  constexpr int kDegree = 13;
  constexpr double kRound = 0x1.8p52;
  const hn::RebindToSigned<D> bits;
  const auto tiny = hn::Lt(x, hn::Set(d, -1022 * std::numbers::ln2));
  x = hn::IfThenElse(hn::Gt(x, hn::Set(d, 1024 * std::numbers::ln2)),
                     hn::Set(d, 1024 * std::numbers::ln2), x);
  const auto base = hn::Set(d, std::numbers::log2e);
  const auto shifted = hn::MulAdd(x, base, hn::Set(d, kRound));  // n in the low bits
  const auto f = hn::MulSub(x, base, hn::Sub(shifted, hn::Set(d, kRound)));
  const auto y = hn::Mul(f, hn::Set(d, std::numbers::ln2));
  double factorial = 1;
  for (int k = 2; k <= kDegree; ++k) factorial *= k;
  auto sum = hn::Set(d, 1 / factorial);
#pragma GCC unroll 16
  for (int k = kDegree; k >= 1; --k) {
    factorial /= k;
    sum = hn::MulAdd(sum, y, hn::Set(d, 1 / factorial));
  }
  const auto exponent = hn::Add(hn::BitCast(bits, shifted), hn::Set(bits, 1023));
  const auto power = hn::BitCast(d, hn::ShiftLeft<52>(exponent));
  return hn::IfThenZeroElse(tiny, hn::Mul(sum, power));
}

/// The steps of exp_in_float below without AVX-512.
template <class D>
struct ExpInFloat {
  using V = hn::Vec<D>;
  static constexpr int kDegree = 5;
  static constexpr float kBiased = 0x1.8p23f + 127;
  static constexpr float kPolynomial[] = {1.0f,           0x1.62e42ap-1f, 0x1.ebf9bcp-3f,
                                          0x1.c6b752p-5f, 0x1.3cea88p-7f, 0x1.5bba14p-10f};
  V x, shifted, f, p;

  // The implicit constructor lacks the target's options (ARM).
  HWY_INLINE ExpInFloat() {}  // NOLINT(modernize-use-equals-default)
  HWY_INLINE void limit(D d, V of) {
    x = hn::Max(hn::Set(d, -88.02969f), of);  // in this argument order x86 vectors propagate NaN
    if constexpr (HWY_TARGET == HWY_SCALAR || !HWY_ARCH_X86)
      x = hn::IfThenElse(hn::IsNaN(of), of, x);
  }
  HWY_INLINE void round(D d) {  // leaves the exponent of 2^n in the low bits
    shifted = hn::MulAdd(x, hn::Set(d, std::numbers::log2e_v<float>), hn::Set(d, kBiased));
  }
  HWY_INLINE void split(D d) {
    f = hn::MulSub(x, hn::Set(d, std::numbers::log2e_v<float>),
                   hn::Sub(shifted, hn::Set(d, kBiased)));
    p = hn::Set(d, kPolynomial[kDegree]);
  }
  HWY_INLINE void multiply(D d, int degree) {
    p = hn::MulAdd(p, f, hn::Set(d, kPolynomial[degree]));
  }
  HWY_INLINE V end(D d) const {
    const hn::RebindToSigned<D> di;
    return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
  }
};

/// e^x of a difference of scores, for x < 88. Relative error at most 1.7e-7 plus |x| 2e-8, that of
/// log2(e) in f32; e^0 is exactly 1; -inf and all below -104 give 0; NaN stays NaN. Without AVX-512
/// it takes one instruction less than exp2: log2(e) is part of two additions, and anything far
/// below 0 becomes -127 ln(2), whose 2^n has the bits of 0. p is the minimax polynomial of 2^f for
/// f in
/// [-1/2, 1/2] with p(0) = 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_in_float(D d, V x) {
  ExpInFloat<D> steps;
#if HWY_TARGET == HWY_AVX3
  const V limited = hn::Max(hn::Set(d, -110.0f), x);  // in this argument order NaN stays
  const V log2e = hn::Set(d, std::numbers::log2e_v<float>);
  const V n{_mm512_roundscale_ps(hn::Mul(limited, log2e).raw, _MM_FROUND_TO_NEAREST_INT)};
  steps.f = hn::MulSub(limited, log2e, n);
  steps.p = hn::Set(d, ExpInFloat<D>::kPolynomial[ExpInFloat<D>::kDegree]);
#else
  steps.limit(d, x);
  steps.round(d);
  steps.split(d);
#endif
#pragma GCC unroll 8
  for (int degree = ExpInFloat<D>::kDegree - 1; degree >= 0; --degree) steps.multiply(d, degree);
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_scalef_ps(steps.p.raw, n.raw)};
#else
  return steps.end(d);
#endif
}

/// e^x of a difference of scores, in the type of its vector.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, double>) {
    return exp_in_double(d, x);
  } else {
    return exp_in_float(d, x);
  }
}

/// x[i] = e^x[i]. Interleaves the steps of all elements: a chain takes 40 cycles, and its 13
/// instructions wait in the scheduler, which holds five chains. That would give one result per 8
/// cycles, where the ports allow one per 4.
///
/// The results are those of `exp`. Only in f32 with AVX-512, x log2(e) is rounded first, which
/// takes two instructions less (1 % of a forward pass on a Zen 4) and adds |x| 6e-8 to the relative
/// error.
template <int kCount, class D, class V = hn::Vec<D>>
HWY_INLINE void exp_each(D d, V (&x)[kCount]) {
  if constexpr (std::is_same_v<hn::TFromD<D>, double>) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) x[i] = exp_in_double(d, x[i]);
  } else if constexpr (HWY_TARGET == HWY_AVX3) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i)
      x[i] = exp2(d, hn::Mul(x[i], hn::Set(d, std::numbers::log2e_v<float>)));
  } else {
    ExpInFloat<D> steps[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) steps[i].limit(d, x[i]);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) steps[i].round(d);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) steps[i].split(d);
#pragma GCC unroll 8
    for (int degree = ExpInFloat<D>::kDegree - 1; degree >= 0; --degree)
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) steps[i].multiply(d, degree);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) x[i] = steps[i].end(d);
  }
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
