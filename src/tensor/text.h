// Types, shapes and tensors as text. Messages take a shape itself as an argument, so that a check
// that passes builds no text.
// IWYU pragma: always_keep
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "heed/tensor.h"

namespace heed {

/// The type with this name; the caller must have checked that it exists.
inline DType dtype_named(std::string_view name) {
  return std::ranges::find(kDTypes, name, &DTypeInfo::name)->dtype;
}

}  // namespace heed

template <>
struct fmt::formatter<heed::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const heed::Shape& shape, fmt::format_context& context) const {
    return std::ranges::copy(heed::to_string(shape), context.out()).out;
  }
};

namespace heed {

/// "f32 [2, 3]".
inline std::string to_string(DType dtype, const Shape& shape) {
  return std::string(name(dtype)) + " " + to_string(shape);
}

/// The same for a view; empty if it is not given.
inline std::string to_string(const ConstView& view) {
  return view.given() ? to_string(view.dtype(), view.shape()) : std::string();
}

}  // namespace heed
