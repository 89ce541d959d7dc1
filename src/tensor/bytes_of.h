// The memory of a view whose elements lie side by side, as bytes: to send, to write, to compare.
#pragma once

#include <cstddef>
#include <span>

#include "heed/tensor.h"

namespace heed {

inline std::size_t byte_count(const ConstView& dense) {
  return static_cast<std::size_t>(dense.element_count()) * size_bytes(dense.dtype());
}

inline std::span<const std::byte> bytes_of(const ConstView& dense) {
  return {static_cast<const std::byte*>(dense.raw()), byte_count(dense)};
}

inline std::span<std::byte> writable_bytes_of(const View& dense) {
  return {static_cast<std::byte*>(dense.raw()), byte_count(dense)};
}

}  // namespace heed
