// bfloat16: the upper half of a float; storage type, arithmetic happens in float.
#pragma once

#include <bit>
#include <cstdint>

namespace heed {

/// 1 sign, 8 exponent, 7 mantissa bits. Conversion from float rounds to nearest even; NaN stays
/// NaN.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  explicit constexpr bf16(float value) : bits(from_float(value)) {}
  explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((word >> 16) | 0x40U);
    return static_cast<std::uint16_t>((word + 0x7FFFU + ((word >> 16) & 1U)) >> 16);
  }
};

}  // namespace heed
