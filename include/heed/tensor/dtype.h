// Element types: one row each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heed/tensor/bf16.h"
#include "heed/tensor/f16.h"

namespace heed {

enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI8, kU8, kBool };

struct DTypeInfo {
  DType dtype;
  std::string_view name;              // as users write it: --dtype f32
  std::string_view safetensors_name;  // as the file format has it
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

}  // namespace heed
