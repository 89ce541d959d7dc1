// 2^x, the only transcendental of the softmax and of GELU. Included once for each target.
#if defined(HEED_KERNELS_CPU_EXP2_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_EXP2_INL_H
#undef HEED_KERNELS_CPU_EXP2_INL_H
#else
#define HEED_KERNELS_CPU_EXP2_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// For x < 127. Relative error at most 1.5e-7; 2^0 is exactly 1; -inf and all below -126 give 0;
/// NaN stays. p(f) 2^n with n = floor(x), f = x - n in [0, 1]; p is the minimax polynomial of the
/// relative error (8.2e-8) among those with p(0) = 1.
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
  // Times the power, not plus its exponent: what is added to the bits of a NaN makes it a number.
  const hn::RebindToSigned<D> di;
  const V shifted = hn::Add(n, hn::Set(d, 0x1.8p23f + 127));  // the biased exponent in the low bits
  const V scaled = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -126.0f)), scaled);
#endif
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
