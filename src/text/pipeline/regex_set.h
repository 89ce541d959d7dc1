// A set of characters of a regular expression: `\p{L}`, `[^\r\n]`.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

namespace heed {

class RegexSet {
 public:
  void add_range(char32_t first, char32_t last);
  /// 's' for white space, 'w' for word characters, 'd' for decimal digits; false if unknown.
  bool add_class(char letter, bool negated);
  /// A general category, or the first letter of several: "Lu", "L". False if unknown.
  bool add_category(std::string_view name, bool negated);
  void add_set(const RegexSet& set);
  void negate() { negated_ = !negated_; }
  /// Adds the other case of every member.
  void ignore_case();
  /// Must be called once, after everything is added.
  void close();

  bool has(char32_t code) const { return code < kTabled ? table_[code] : looked_up(code); }

 private:
  struct Item {
    enum class Kind : std::uint8_t { kRange, kClass, kCategories, kSet } kind = Kind::kRange;
    bool negated = false;
    char32_t first = 0, last = 0;
    char letter = 0;
    std::uint32_t categories = 0;  // bits
    std::vector<RegexSet> set = {};

    bool has(char32_t code) const;
  };
  static constexpr char32_t kTabled = 0x180;
  bool looked_up(char32_t code) const;
  bool has_exactly(char32_t code) const;

  std::vector<Item> items_;
  bool negated_ = false;
  bool any_case_ = false;
  std::bitset<kTabled> table_;
};

}  // namespace heed
