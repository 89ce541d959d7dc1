// Rows rounded to whole numbers, 32 numbers at a time, for products with codes. Included once for
// each target.
//
// One thread of a Zen 3 (AVX2), microseconds per 768 numbers, as plain loops for SSE2 and now: to
// 24 bits 2.7 -> 0.93, to bytes 3.2 -> 0.55.
#if defined(HEED_KERNELS_CPU_MATMUL_ROUND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_ROUND_INL_H
#undef HEED_KERNELS_CPU_MATMUL_ROUND_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_ROUND_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "ops/kernels/matmul_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int32_t kInfinityBits = 0x7F800000;

// The bits of the largest magnitude of 32 numbers: from kInfinityBits on if one is not finite.
HWY_INLINE std::int32_t largest_bits(const float* a) {
  const Ints d;
  auto most = hn::Zero(d);
  for (int k = 0; k < kSlabDepth; k += kVectorLanes)
    most = hn::Max(most, hn::BitCast(d, hn::Abs(hn::LoadU(Floats(), a + k))));
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// The exponent of the least power of two of which a number with these bits is at most 0x7F7F7F,
// 127 in each digit.
HWY_INLINE int exponent_of(std::int32_t most) {
  constexpr std::int32_t kMantissaBits = 23, kMantissa = 0x7FFFFF;
  constexpr std::int32_t kMostDigits = 2 * 0x7F7F7F & kMantissa;
  return std::max(most >> kMantissaBits, 1) - 149 + ((most & kMantissa) > kMostDigits ? 1 : 0);
}
HWY_INLINE float power_of_two(int exponent) {
  return exponent < -126 ? std::bit_cast<float>(1 << (exponent + 149))
                         : std::bit_cast<float>((exponent + 127) << 23);
}

// Rounds 32 numbers times two factors to whole numbers and writes each kDigits bytes of them, as
// signed digits. Returns the sums of 16 whole numbers each, times `scale`.
template <int kDigits>
HWY_INLINE RoundedSlab round_slab(const float* a, float factor, float factor_too, float scale,
                                  std::int8_t (*digits)[kSlabDepth]) {
  const Floats d;
  const hn::Rebind<std::uint8_t, Words> bytes;
  // Added, and again by exclusive or, it makes the digits signed.
  const auto middle = hn::Set(Words(), kDigits == 1 ? 0U : 0x808080U);
  RoundedSlab rounded = {.scale = scale, .sums = {}};
  for (int half = 0; half < 2; ++half) {
    auto sum = hn::Zero(Ints());
    for (int k = 16 * half; k < 16 * half + 16; k += kVectorLanes) {
      const Vector scaled =
          hn::Mul(hn::Mul(hn::LoadU(d, a + k), hn::Set(d, factor)), hn::Set(d, factor_too));
      const auto wholes = hn::NearestInt(scaled);
      sum = hn::Add(sum, wholes);
      auto left = hn::Xor(hn::Add(hn::BitCast(Words(), wholes), middle), middle);
      for (int digit = 0; digit < kDigits; ++digit) {
        hn::StoreU(hn::TruncateTo(bytes, left), bytes,
                   reinterpret_cast<std::uint8_t*>(digits[digit] + k));
        left = hn::ShiftRight<8>(left);
      }
    }
    rounded.sums[half] = scale * static_cast<float>(hn::GetLane(hn::SumOfLanes(Ints(), sum)));
  }
  return rounded;
}

RoundedSlab round_to_bytes(const float* a, std::int8_t* bytes) {
  constexpr float kLeast = 1e-30F;  // 127 / it is finite
  const std::int32_t bits = largest_bits(a);
  const bool is_finite = bits < kInfinityBits;
  const float most =
      is_finite ? std::bit_cast<float>(bits) : std::numeric_limits<float>::quiet_NaN();
  return round_slab<1>(a, most >= kLeast ? 127 / most : 0, 1, most / 127,
                       reinterpret_cast<std::int8_t(*)[kSlabDepth]>(bytes));
}

// Two factors, as one could overflow.
void round_to_digits(const float* a, RowSlab& slab) {
  const std::int32_t bits = largest_bits(a);
  const bool is_finite = bits < kInfinityBits;
  const int exponent = exponent_of(bits), some = exponent / 2;
  slab.rounded = round_slab<kRowDigits>(
      a, is_finite ? power_of_two(-some) : 0, power_of_two(some - exponent),
      is_finite ? power_of_two(exponent) : std::numeric_limits<float>::quiet_NaN(), slab.digits);
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
