// Enumerators from callers: a cast makes any number one of them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heed/error.h"

namespace heed {

/// Throws unless `value` is one of the enumerators from 0 to `last`.
template <typename Enum>
  requires std::is_enum_v<Enum>
void require_enumerator(std::string_view op, std::string_view argument, Enum value, Enum last) {
  const auto number = static_cast<std::int64_t>(value);
  const auto most = static_cast<std::int64_t>(last);
  if (number < 0 || number > most)
    fail(op, argument, number, fmt::format("an enumerator from 0 to {}", most));
}

}  // namespace heed
