// The parts of DLPack 1 (dmlc.github.io/dlpack) that heed reads: array libraries share memory
// through it.
#pragma once

#include <cstdint>

#include "heed/tensor.h"

namespace heed::python {

enum class DlCode : std::uint8_t { kInt = 0, kUnsigned = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct DlType {
  DlCode code = DlCode::kFloat;
  std::uint8_t bits = 0;
};

constexpr DlType dl_type(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_bytes(dtype));
  if (dtype == DType::kBF16) return {DlCode::kBfloat, bits};
  if (dtype == DType::kU8) return {DlCode::kUnsigned, bits};
  if (dtype == DType::kBool) return {DlCode::kBool, bits};
  return {is_floating(dtype) ? DlCode::kFloat : DlCode::kInt, bits};
}

inline constexpr std::int32_t kDlCpu = 1;
inline constexpr std::int32_t kDlPinned[] = {3, 11, 13};  // host memory that a GPU can access too
inline constexpr std::uint64_t kDlReadOnly = 1;

struct DlTensor {
  void* data = nullptr;
  std::int32_t device_type = 0;
  std::int32_t device_id = 0;
  std::int32_t rank = 0;
  std::uint8_t code = 0;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 0;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  // in elements; null: row-major
  std::uint64_t byte_offset = 0;
};

struct DlManaged {
  DlTensor tensor;
  void* manager = nullptr;
  void (*deleter)(DlManaged* self) = nullptr;
};

struct DlManagedVersioned {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  void* manager = nullptr;
  void (*deleter)(DlManagedVersioned* self) = nullptr;
  std::uint64_t flags = 0;
  DlTensor tensor;
};

/// The target of `type.__dlpack_c_exchange_api__`: the same without a call through Python.
struct DlExchange {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  const DlExchange* older = nullptr;
  void* allocate = nullptr;
  int (*from_object)(void* object, DlManagedVersioned** out) = nullptr;
  void* to_object = nullptr;
  int (*tensor_of)(void* object, DlTensor* out) = nullptr;  // valid as long as the object
};

}  // namespace heed::python
