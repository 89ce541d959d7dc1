// IEEE binary16: storage type; arithmetic happens in float.
#pragma once

#include <bit>
#include <cstdint>

namespace heed {

/// 1 sign, 5 exponent, 10 mantissa bits. Conversion from float rounds to nearest even; denormals
/// are kept.
struct f16 {
  std::uint16_t bits = 0;

  f16() = default;
  explicit constexpr f16(float value) : bits(from_float(value)) {}
  explicit constexpr operator float() const { return to_float(bits); }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000U);
    const std::uint32_t magnitude = word & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return sign | 0x7E00U;   // NaN
    if (magnitude >= 0x477FF000U) return sign | 0x7C00U;  // rounds past 65504
    if (magnitude < 0x33000001U) return sign;             // at most 2^-25: rounds to 0
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
    const int shift = exponent < -14 ? -1 - exponent : 13;  // denormals lose more bits
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
    const std::uint32_t half = 1U << (shift - 1);
    const std::uint32_t rounded =
        kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1 : 0);
    const std::uint32_t base = exponent < -14 ? 0
                                              : static_cast<std::uint32_t>(exponent + 14)
                                                    << 10;  // + the hidden bit in `rounded`
    return static_cast<std::uint16_t>(sign | (base + rounded));
  }
  static constexpr float to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1FU;
    const std::uint32_t mantissa = half & 0x3FFU;
    if (exponent == 0) {
      const float value = static_cast<float>(mantissa) * 0x1p-24F;
      return sign != 0 ? -value : value;
    }
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
};

}  // namespace heed
