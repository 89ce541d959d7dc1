// Numbers that a person wrote: decimal digits, nothing before or after them.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace heed {

/// False unless the whole text is one decimal number that the type can hold.
template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last;
}

/// True for a number that is too large for the type, or too small.
template <typename Number>
bool is_beyond_the_type(std::string_view text) {
  Number number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc::result_out_of_range && end == last;
}

}  // namespace heed
