// Words for messages: long texts cut short, the nearest name, numbers, errors in the caller's
// terms.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "heed/error.h"

namespace heed {

/// At most `most` bytes, in whole characters, and "..." if something is cut.
std::string clipped(std::string_view text, std::size_t most = 60);

/// Levenshtein distance in bytes: insertions, deletions and replacements that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The probable intended name: at most a third of the letters of `word` differ. Empty if there is
/// none; ties to the first.
std::string_view nearest_name(std::span<const std::string_view> names, std::string_view word);

/// "1 token", "2 tokens"; `several` for irregular plurals: "1 query", "2 queries".
template <std::integral Count>
std::string number_of(Count count, std::string_view one, std::string_view several = {}) {
  if (count == 1) return fmt::format("1 {}", one);
  return several.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, several);
}

/// The items with `between` between any two: "a, b, c"; `text_of` formats one, as "{}" if it is not
/// given. fmt::join compiles fmt's own formatters into every file that uses it, half a second each.
template <typename Items, typename TextOf>
std::string joined(const Items& items, std::string_view between, const TextOf& text_of) {
  std::string text;
  std::string_view before;
  for (const auto& item : items) {
    text += before;
    text += text_of(item);
    before = between;
  }
  return text;
}
template <typename Items>
std::string joined(const Items& items, std::string_view between) {
  return joined(items, between, [](const auto& item) {
    if constexpr (std::convertible_to<decltype(item), std::string_view>)
      return std::string_view(item);
    else
      return fmt::format("{}", item);
  });
}

/// Formats weights and scores between 0 and 1: `.36`; `1.0` from .995.
inline std::string hundredths(double value) {
  if (value >= 0.995) return fmt::format("{:.1f}", value);
  const std::string text = fmt::format("{:.2f}", value);
  return text.starts_with("0.") ? text.substr(1) : text;
}

/// Throws for a part of a file; the parts are in reading order.
[[noreturn]] void fail_in(Phrase file, Phrase argument, Phrase found, Phrase expected,
                          ErrorCode code = ErrorCode::kCorrupt);

/// Runs `work`; if it throws an Error, `reword` changes its parts.
template <typename Work, typename Reword>
auto reworded(const Work& work, const Reword& reword) {
  try {
    return work();
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    reword(parts);
    throw Error(std::move(parts));
  }
}

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
