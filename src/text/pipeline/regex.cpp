// Regular expressions by PCRE2, from the syntax of Oniguruma, in which published tokenizers are
// written. Both read most expressions alike; those that they read differently are translated or
// refused.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "text/pipeline/pattern.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

class Translation {
 public:
  explicit Translation(std::string_view regex) : rest_(regex) {}

  std::string whole() {
    while (!rest_.empty()) {
      if (rest_[0] == '\\')
        escaped();
      else if (open_ > 0)
        in_set();
      else
        outside_sets();
    }
    return std::move(to_);
  }

 private:
  [[noreturn]] static void refuse(std::string_view construct) {
    throw UnreadRegex{std::string(construct)};
  }

  void put(std::string_view text, std::size_t read) {
    to_ += text;
    rest_.remove_prefix(read);
  }
  void copy(std::size_t bytes) { put(rest_.substr(0, bytes), std::min(bytes, rest_.size())); }

  void outside_sets() {
    if (rest_.starts_with('(')) return group();
    if (rest_.starts_with('{')) return braces();
    if (std::string_view("*+?|^$").find(rest_[0]) != std::string_view::npos) return copy(1);
    repeatable_ = to_.size();
    if (rest_.starts_with(')')) return group_end();
    if (!rest_.starts_with('[')) return character();
    ++open_;
    copy(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with(']')) refuse("a set that begins with ]");
  }

  // Oniguruma's other case of a character may be two, as of "ß".
  void character() {
    const Character one = character_at(rest_, 0);
    if (one.code >= 0x80 && is_any_case()) refuse("a character that is not ASCII in (?i:...)");
    copy(one.bytes);
  }

  bool is_any_case() const { return std::ranges::any_of(groups_, &Group::any_case); }

  void group_end() {
    if (groups_.empty()) refuse("a ) without its (");
    repeatable_ = groups_.back().begin;
    groups_.pop_back();
    copy(1);
  }

  void group() {
    groups_.push_back({to_.size(), rest_.starts_with("(?i:")});
    if (!rest_.starts_with("(?") && !rest_.starts_with("(*")) return copy(1);
    for (const std::string_view begin : {"(?:", "(?i:", "(?=", "(?!", "(?>", "(?<=", "(?<!"})
      if (rest_.starts_with(begin)) return copy(begin.size());
    refuse(rest_.substr(0, 3));
  }

  // {n}, {n,}, {n,m}, {,m}. Oniguruma reads `{n,m}+` as a repetition of the repetition, and `{n}?`
  // as an optional one.
  void braces() {
    const std::size_t end = rest_.find_first_not_of("0123456789,", 1);
    if (end == std::string_view::npos || rest_[end] != '}') refuse("a { that begins no numbers");
    const bool exact = rest_.substr(0, end).find(',') == std::string_view::npos;
    const std::string_view next = rest_.substr(end + 1);
    const bool again = next.starts_with('+') || (exact && next.starts_with('?'));
    if (again) to_.insert(repeatable_, "(?:");
    if (rest_.starts_with("{,")) put("{0", 1);
    copy(rest_.find('}') + 1);
    if (again) to_ += ')';
  }

  // A set within a set adds its members.
  void in_set() {
    for (const std::string_view begin : {"[:", "[^", "&&", "-["})
      if (rest_.starts_with(begin)) refuse(fmt::format("{} within a set", begin));
    if (rest_.starts_with('[')) {
      ++open_;
      put("", 1);
    } else if (rest_.starts_with(']')) {
      --open_;
      put(open_ == 0 ? "]" : "", 1);
    } else {
      character();
    }
  }

  // \p{L}, \p{^Lu}: general categories alone.
  void category() {
    const std::size_t end = rest_.find('}');
    const std::size_t begin = rest_.starts_with("\\p{^") || rest_.starts_with("\\P{^") ? 4 : 3;
    if (end == std::string_view::npos || end < begin + 1 || end > begin + 2)
      refuse(fmt::format("{} that names no general category", rest_.substr(0, 2)));
    copy(end + 1);
  }

  void escaped() {
    if (open_ == 0) repeatable_ = to_.size();
    const char letter = rest_.size() > 1 ? rest_[1] : '0';
    const bool is_plain = !((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                            (letter >= '0' && letter <= '9'));
    if (is_any_case() && (letter == 'x' || letter == 'u'))
      refuse(fmt::format("\\{} in (?i:...)", letter));
    if (is_plain || std::string_view("nrtfx").find(letter) != std::string_view::npos)
      return copy(2);
    if (letter == 'p' || letter == 'P') return category();
    if (letter == 'u' && rest_.size() >= 6)
      return put(fmt::format("\\x{{{}}}", rest_.substr(2, 4)), 6);
    constexpr std::string_view kWords = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
    constexpr std::string_view kMore =
        "\\xB2\\xB3\\xB9\\xBC-\\xBE";  // \w outside sets: ² ³ ¹ ¼ ½ ¾
    if (letter == 'w' && open_ > 0) return put(kWords, 2);
    if (letter == 'w') return put(fmt::format("[{}{}]", kWords, kMore), 2);
    if (letter == 'W' && open_ == 0) return put(fmt::format("[^{}{}]", kWords, kMore), 2);
    constexpr std::pair<char, std::string_view> kSame[] = {{'s', "\\p{White_Space}"},
                                                           {'S', "\\P{White_Space}"},
                                                           {'d', "\\p{Nd}"},
                                                           {'D', "\\P{Nd}"},
                                                           {'v', "\\x0B"}};
    for (const auto& [name, meant] : kSame)
      if (letter == name) return put(meant, 2);
    refuse(fmt::format("\\{}{}", letter, open_ > 0 ? " in a set" : ""));
  }

  struct Group {
    std::size_t begin = 0;  // in `to_`
    bool any_case = false;
  };

  std::string_view rest_;
  std::string to_;
  int open_ = 0;                // sets
  std::size_t repeatable_ = 0;  // where the latest set, group or character begins in `to_`
  std::vector<Group> groups_;   // that are open
};

std::string message_of(int error) {
  std::array<char, 128> message = {};
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message.data()), message.size());
  return message.data();
}

using Code = std::shared_ptr<pcre2_code>;

Code compiled(const std::string& regex) {
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  std::size_t at = 0;
  const auto* const text = reinterpret_cast<PCRE2_SPTR>(regex.data());
  const Code code(pcre2_compile(text, regex.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error,
                                &at, context.get()),
                  &pcre2_code_free);
  if (code == nullptr) throw UnreadRegex{fmt::format("a fault: {}", message_of(error))};
  std::uint32_t may_be_empty = 1;
  pcre2_pattern_info(code.get(), PCRE2_INFO_MATCHEMPTY, &may_be_empty);
  if (may_be_empty != 0) throw UnreadRegex{"a match of nothing"};
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // where the system allows it
  return code;
}

constexpr std::size_t kExpected = 1 << 20;  // words for which room is made at once

std::vector<PatternMatch> found_by(const pcre2_code* code, std::string_view text) {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create(1, nullptr), &pcre2_match_data_free);
  const std::size_t* const found = pcre2_get_ovector_pointer(data.get());
  std::vector<PatternMatch> all;
  all.reserve(std::min<std::size_t>(text.size() / 4, kExpected));
  std::size_t jit_size = 0;
  pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &jit_size);
  std::size_t begin = 0;
  for (std::uint32_t options = 0;; options = PCRE2_NO_UTF_CHECK) {  // checked once
    const auto found_with = [&](auto match, std::uint32_t more) {
      return match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), begin,
                   options | more, data.get(), nullptr);
    };
    int result = jit_size > 0 && options != 0 ? found_with(&pcre2_jit_match, 0)
                                              : found_with(&pcre2_match, 0);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = found_with(&pcre2_match, PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH) return all;
    if (result < 0)
      fail("tokenizer", "a regular expression",
           fmt::format("one that fails on this text ({})", message_of(result)),
           "one that PCRE2 searches within its limits");
    all.push_back({found[0], found[1]});
    begin = found[1];
  }
}

// PCRE2's Unicode may be older than utf8proc's. A character that it does not know takes part as a
// known one of the same general category and length.
class Newer {
 public:
  Newer() : unassigned_(compiled("\\p{Cn}")) {}

  // The text itself if PCRE2 knows all its characters, else `copy`.
  std::string_view replaced_in(std::string_view text, std::string& copy) const {
    if (std::ranges::all_of(text, [](char one) { return static_cast<signed char>(one) >= 0; }))
      return text;
    for (const auto& [begin, end] : found_by(unassigned_.get(), text)) {
      if (copy.empty()) copy = text;
      copy.replace(begin, end - begin, known_like(text.substr(begin, end - begin)));
    }
    return copy.empty() ? text : copy;
  }

 private:
  static constexpr std::size_t kUnassigned = 0;  // Cn

  // Itself, if utf8proc does not know it either.
  std::string known_like(std::string_view text) const {
    const std::size_t category = general_category(character_at(text, 0).code);
    if (category == kUnassigned) return std::string(text);
    constexpr char32_t kFirst[] = {0, 0, 0x80, 0x800, 0x10000};  // of a length in bytes
    for (char32_t code = kFirst[text.size()]; code <= 0x10FFFF; ++code)
      if (const std::string known = general_category(code) == category ? to_utf8(code) : "";
          known.size() == text.size() && found_by(unassigned_.get(), known).empty())
        return known;
    return std::string(text);
  }

  Code unassigned_;
};

}  // namespace

Pattern read_regex(std::string_view regex) {
  return [code = compiled(Translation(regex).whole())](std::string_view text) {
    static const Newer newer;
    std::string copy;
    return found_by(code.get(), newer.replaced_in(text, copy));
  };
}

}  // namespace heed
