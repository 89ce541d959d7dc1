// Checks of numbers from the caller: as text, and as enumerators.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "heed/error.h"

namespace heed {

/// True only if the whole text is one decimal number that the type can represent.
template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last;
}

/// True for a number that is too large or too small for the type.
template <typename Number>
bool is_beyond_the_type(std::string_view text) {
  Number number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc::result_out_of_range && end == last;
}

/// Throws unless `value` is an enumerator from 0 to `last`.
template <typename Enum>
  requires std::is_enum_v<Enum>
void require_enumerator(std::string_view op, std::string_view argument, Enum value, Enum last) {
  const auto number = static_cast<std::int64_t>(value);
  const auto most = static_cast<std::int64_t>(last);
  if (number < 0 || number > most)
    fail(op, argument, number, fmt::format("an enumerator from 0 to {}", most));
}

}  // namespace heed
