// Numbers as sentences have them.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace heed {

/// "1 token", "2 tokens"; `several` where an s is not enough: "1 query", "2 queries".
template <std::integral Count>
std::string number_of(Count count, std::string_view one, std::string_view several = {}) {
  if (count == 1) return fmt::format("1 {}", one);
  return several.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, several);
}

/// `.36`, as weights and scores between 0 and 1 are written; `1.0` from .995.
inline std::string hundredths(double value) {
  if (value >= 0.995) return fmt::format("{:.1f}", value);
  const std::string text = fmt::format("{:.2f}", value);
  return text.starts_with("0.") ? text.substr(1) : text;
}

}  // namespace heed
