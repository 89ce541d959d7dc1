#include "text/pipeline/regex_set.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/unicode/properties.h"

namespace heed {
namespace {

// In the order of the bits.
constexpr std::array<std::string_view, 30> kCategories = {
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};

// Characters whose other case is outside the simple tables: long s, and the Kelvin sign.
constexpr std::pair<char32_t, char32_t> kOtherCases[] = {{0x17F, 's'}, {0x212A, 'k'}};

// Oniguruma's \w: letters, marks, numbers, connectors.
bool is_of_words(char32_t code) {
  return (traits_of(code) & (kLetter | kMark | kNumber)) != 0 ||
         kCategories[general_category(code)] == "Pc";
}

char32_t folded(char32_t code) {
  for (const auto& [other, letter] : kOtherCases)
    if (code == other) return letter;
  const LowerCase lower = lower_case(code);
  return lower.count == 1 ? lower.codes[0] : code;
}

}  // namespace

void RegexSet::add_range(char32_t first, char32_t last) {
  items_.push_back({.kind = Item::Kind::kRange, .first = first, .last = last});
}

bool RegexSet::add_class(char letter, bool negated) {
  if (letter != 's' && letter != 'w' && letter != 'd') return false;
  items_.push_back({.kind = Item::Kind::kClass, .negated = negated, .letter = letter});
  return true;
}

bool RegexSet::add_category(std::string_view name, bool negated) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kCategories.size(); ++i)
    if (kCategories[i] == name || (name.size() == 1 && kCategories[i].starts_with(name)))
      bits |= std::uint32_t{1} << i;
  if (bits == 0) return false;
  items_.push_back({.kind = Item::Kind::kCategories, .negated = negated, .categories = bits});
  return true;
}

void RegexSet::add_set(const RegexSet& set) {
  items_.push_back({.kind = Item::Kind::kSet, .set = {set}});
}

void RegexSet::ignore_case() { any_case_ = true; }

void RegexSet::close() {
  for (char32_t code = 0; code < kTabled; ++code) table_[code] = looked_up(code);
}

bool RegexSet::Item::has(char32_t code) const {
  bool found = false;
  if (kind == Kind::kRange) found = first <= code && code <= last;
  if (kind == Kind::kCategories) found = ((categories >> general_category(code)) & 1) != 0;
  if (kind == Kind::kSet) found = set.front().looked_up(code);
  if (kind == Kind::kClass)
    found = letter == 's'   ? is_space(code)
            : letter == 'w' ? is_of_words(code)
                            : kCategories[general_category(code)] == "Nd";
  return found != negated;
}

bool RegexSet::has_exactly(char32_t code) const {
  return std::ranges::any_of(items_, [&](const Item& item) { return item.has(code); });
}

bool RegexSet::looked_up(char32_t code) const {
  if (!any_case_) return has_exactly(code) != negated_;
  const char32_t lower = folded(code);
  const bool upper = lower >= 'a' && lower <= 'z' && has_exactly(lower - 'a' + 'A');
  return (has_exactly(code) || has_exactly(lower) || upper) != negated_;
}

}  // namespace heed
