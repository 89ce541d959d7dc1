// Element types, one row each. The 16-bit types are for storage; arithmetic is in float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

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
    if (magnitude >= 0x477FF000U) return sign | 0x7C00U;  // rounds beyond 65504
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

enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI8, kU8, kBool };

struct DTypeInfo {
  DType dtype;
  std::string_view name;              // the name users write: --dtype f32
  std::string_view safetensors_name;  // the name in the file format
  std::size_t size_bytes;
};

inline constexpr DTypeInfo kDTypes[] = {
    {DType::kF64, "f64", "F64", 8},    {DType::kF32, "f32", "F32", 4},
    {DType::kF16, "f16", "F16", 2},    {DType::kBF16, "bf16", "BF16", 2},
    {DType::kI64, "i64", "I64", 8},    {DType::kI32, "i32", "I32", 4},
    {DType::kI8, "i8", "I8", 1},       {DType::kU8, "u8", "U8", 1},
    {DType::kBool, "bool", "BOOL", 1},
};

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
constexpr std::size_t size_bytes(DType dtype) { return info(dtype).size_bytes; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
constexpr bool is_floating(DType dtype) { return dtype <= DType::kBF16; }

/// The DType of a C++ element type.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<f16> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

inline constexpr std::int64_t kElementsPerScale = 32;

}  // namespace heed
