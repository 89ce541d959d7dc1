// Shapes as arguments of messages: a check that holds makes no text of them.
// IWYU pragma: always_keep
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "heed/tensor.h"

template <>
struct fmt::formatter<heed::Shape> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const heed::Shape& shape, Context& context) const {
    return fmt::formatter<std::string_view>::format(heed::to_string(shape), context);
  }
};
