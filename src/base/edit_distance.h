// How far two words are apart, for "the nearest known one is ...".
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace heed {

/// Levenshtein's distance in bytes: insertions, deletions and replacements that make `b` of `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that was probably meant: at most a third of the letters of `word` differ. Empty without
/// one; ties to the first.
std::string_view nearest_name(std::span<const std::string_view> names, std::string_view word);

}  // namespace heed
