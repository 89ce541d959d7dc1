// How far two words are apart, for "the nearest known one is ...".
#pragma once

#include <cstddef>
#include <string_view>

namespace heed {

/// Levenshtein's distance in bytes: insertions, deletions and replacements that make `b` of `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace heed
