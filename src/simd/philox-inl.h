// Philox 4x32-10 (base/philox.h) on as many counters at once as a vector has lanes. Included
// once for each vector width.
#if defined(HEED_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_PHILOX_INL_H_
#undef HEED_PHILOX_INL_H_
#else
#define HEED_PHILOX_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "base/philox.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One counter per lane; replaced by its four words.
template <class Tag>
struct PhiloxWords {
  hn::Vec<Tag> c0, c1, c2, c3;
};

template <class Tag>
struct WideProduct {
  hn::Vec<Tag> low, high;
};

template <class Tag>
HWY_INLINE WideProduct<Tag> wide_product(Tag words, hn::Vec<Tag> a, hn::Vec<Tag> b) {
#if HWY_TARGET == HWY_SCALAR  // lacks MulEven
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
  return {hn::Set(words, static_cast<std::uint32_t>(product)),
          hn::Set(words, static_cast<std::uint32_t>(product >> 32))};
#else
  const hn::RepartitionToWide<Tag> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(words, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  return {hn::OddEven(hn::BitCast(words, hn::ShiftLeft<32>(odd)), hn::BitCast(words, even)),
          hn::OddEven(hn::BitCast(words, odd), hn::BitCast(words, hn::ShiftRight<32>(even)))};
#endif
}

template <class Tag>
HWY_INLINE void philox_rounds(Tag words, PhiloxKey key, PhiloxWords<Tag>& c) {
  const auto multiplier0 = hn::Set(words, 0xD2511F53U);
  const auto multiplier1 = hn::Set(words, 0xCD9E8D57U);
  for (int round = 0; round < 10; ++round) {
    const WideProduct<Tag> product0 = wide_product(words, c.c0, multiplier0);
    const WideProduct<Tag> product1 = wide_product(words, c.c2, multiplier1);
    c.c0 = hn::Xor(hn::Xor(product1.high, c.c1), hn::Set(words, key[0]));
    c.c2 = hn::Xor(hn::Xor(product0.high, c.c3), hn::Set(words, key[1]));
    c.c1 = product1.low;
    c.c3 = product0.low;
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_PHILOX_INL_H_
