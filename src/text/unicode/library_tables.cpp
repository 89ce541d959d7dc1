// The library's view of characters: Unicode 15.0 less what is newer, and what has changed since.
#include <algorithm>
#include <iterator>

#include "text/unicode/newer_characters.h"
#include "text/unicode/properties.h"

namespace heed {
namespace {

bool came_after(char32_t code, int version) {
  if (code < kNewerCharacters[0].first) return false;
  const auto* range = std::ranges::lower_bound(kNewerCharacters, code, {}, &NewerCharacters::last);
  return range != std::end(kNewerCharacters) && code >= range->first && range->version > version;
}

constexpr int kCategoryVersion = 8;  // Unicode's version of each table
constexpr int kNormalForms = 9;

}  // namespace

bool is_library_punctuation(char32_t code) {
  if (code < 0x80)
    return (code >= 0x21 && code <= 0x2F) || (code >= 0x3A && code <= 0x40) ||
           (code >= 0x5B && code <= 0x60) || (code >= 0x7B && code <= 0x7E);
  if (code == 0x166D || code == 0x111C9) return true;  // So and Mn since 12.0 and 11.0
  return (traits_of(code) & kPunctuation) != 0 && !came_after(code, kCategoryVersion);
}

bool is_library_accent(char32_t code) {
  if (code == 0x1734) return true;  // Mc since 14.0
  const bool became = code == 0x1885 || code == 0x1886 || code == 0xA9BD || code == 0x111C9;
  return !became && is_nonspacing_mark(code) && !came_after(code, kCategoryVersion);
}

bool is_library_mark(char32_t code) {
  if (code == 0x1CF2 || code == 0x1CF3) return true;  // Lo since 12.0
  return code != 0x111C9 && is_mark(code) && !came_after(code, kNormalForms);
}

bool is_library_hidden(char32_t code) {
  return (traits_of(code) & kHidden) != 0 && !came_after(code, kCategoryVersion);
}

bool is_library_formed(char32_t code) { return !came_after(code, kNormalForms); }

}  // namespace heed
