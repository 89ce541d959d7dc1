// Escapes the bytes of a text that have a meaning where it is written.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace heed {

/// The text with each byte in `with` replaced: replaced("a<b", {{'<', "&lt;"}}) is "a&lt;b".
inline std::string replaced(std::string_view text,
                            std::initializer_list<std::pair<char, std::string_view>> with) {
  std::string all;
  for (const char byte : text) {
    const auto* const found =
        std::ranges::find(with, byte, &std::pair<char, std::string_view>::first);
    all += found == with.end() ? std::string_view(&byte, 1) : found->second;
  }
  return all;
}

}  // namespace heed
