// Counts as sentences have them.
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

}  // namespace heed
