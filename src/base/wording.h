// Words of messages: long texts cut short, the nearest name, numbers, errors in the caller's terms.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "heed/error.h"

namespace heed {

/// At most `most` bytes of it, whole characters, and "..." where something is left out.
std::string clipped(std::string_view text, std::size_t most = 60);

/// Levenshtein's distance in bytes: insertions, deletions and replacements that make `b` of `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that was probably meant: at most a third of the letters of `word` differ. Empty without
/// one; ties to the first.
std::string_view nearest_name(std::span<const std::string_view> names, std::string_view word);

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

/// Runs `work`; an error of its own passes through `reword`, which changes the parts.
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

}  // namespace heed
