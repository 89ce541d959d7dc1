#include "text/unicode/breaks.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "text/unicode/break_ranges.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

WordBreak by_category(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
      return WordBreak::kLetter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return WordBreak::kExtend;
    case UTF8PROC_CATEGORY_ND:
      return WordBreak::kNumeric;
    case UTF8PROC_CATEGORY_CF:
      return WordBreak::kFormat;
    case UTF8PROC_CATEGORY_PC:
      return WordBreak::kConnector;
    default:
      return WordBreak::kOther;
  }
}

WordBreak word_break(char32_t code) {
  const auto* range = std::ranges::lower_bound(kWordBreakRanges, code, {}, &WordBreakRange::last);
  if (range != std::end(kWordBreakRanges) && code >= range->first) return range->kind;
  return by_category(code);
}

bool is_pictogram(char32_t code) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->boundclass ==
         UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

// A character with the marks and format characters that follow it (rule WB4).
struct Unit {
  std::size_t begin = 0;
  WordBreak kind = WordBreak::kOther;
  char32_t code = 0;
  bool is_alone = true;         // nothing follows it
  bool ends_in_joiner = false;  // the last follower is a zero-width joiner
};

bool is_line_end(WordBreak kind) {
  return kind == WordBreak::kCr || kind == WordBreak::kLf || kind == WordBreak::kNewline;
}

bool follows(WordBreak kind) {
  return kind == WordBreak::kExtend || kind == WordBreak::kFormat || kind == WordBreak::kJoiner;
}

std::vector<Unit> units_of(std::string_view text) {
  std::vector<Unit> units;
  for (std::size_t at = 0; at < text.size();) {
    Character character = character_at(text, at);
    if (character.bytes == 0) character = {0xFFFD, 1};
    const WordBreak kind = word_break(character.code);
    if (follows(kind) && !units.empty() && !is_line_end(units.back().kind)) {
      units.back().is_alone = false;
      units.back().ends_in_joiner = kind == WordBreak::kJoiner;
    } else {
      units.push_back({.begin = at,
                       .kind = kind,
                       .code = character.code,
                       .ends_in_joiner = kind == WordBreak::kJoiner});
    }
    at += character.bytes;
  }
  return units;
}

bool is_letter_kind(WordBreak kind) {
  return kind == WordBreak::kLetter || kind == WordBreak::kHebrew;
}

bool is_word_kind(WordBreak kind) {
  return is_letter_kind(kind) || kind == WordBreak::kNumeric || kind == WordBreak::kKatakana;
}

// Characters allowed between two letters, or between two digits.
bool joins_letters(WordBreak kind) {
  return kind == WordBreak::kMidLetter || kind == WordBreak::kMidBoth ||
         kind == WordBreak::kSingleQuote;
}
bool joins_numbers(WordBreak kind) {
  return kind == WordBreak::kMidNumber || kind == WordBreak::kMidBoth ||
         kind == WordBreak::kSingleQuote;
}

// For the neighbours a and b, with the units before and after both: rules WB5 to WB13.
bool is_joined(WordBreak before, WordBreak a, WordBreak b, WordBreak after) {
  using enum WordBreak;
  if (is_letter_kind(a) && (is_letter_kind(b) || b == kNumeric)) return true;
  if (a == kNumeric && (is_letter_kind(b) || b == kNumeric)) return true;
  if (is_letter_kind(a) && joins_letters(b) && is_letter_kind(after)) return true;
  if (is_letter_kind(before) && joins_letters(a) && is_letter_kind(b)) return true;
  if (a == kHebrew && (b == kSingleQuote || (b == kDoubleQuote && after == kHebrew))) return true;
  if (before == kHebrew && a == kDoubleQuote && b == kHebrew) return true;
  if (a == kNumeric && joins_numbers(b) && after == kNumeric) return true;
  if (before == kNumeric && joins_numbers(a) && b == kNumeric) return true;
  if (a == kKatakana && b == kKatakana) return true;
  if (b == kConnector) return is_word_kind(a) || a == kConnector;
  return a == kConnector && is_word_kind(b);
}

class UnicodeWords {
 public:
  UnicodeWords(std::string_view text, WordBreaks breaks) : units_(units_of(text)), breaks_(breaks) {
    const auto is_japanese = [](const Unit& unit) {
      return unit.kind == WordBreak::kHiragana || unit.kind == WordBreak::kKatakana;
    };
    has_japanese_ = std::ranges::any_of(units_, is_japanese);
    // Lengthens the vowel before it, in either Japanese script.
    constexpr char32_t kLong = 0x30FC;
    if (breaks_.runs_of_scripts)
      for (std::size_t at = 1; at < units_.size(); ++at)
        if (units_[at].code == kLong && units_[at - 1].kind == WordBreak::kHiragana)
          units_[at].kind = WordBreak::kHiragana;
  }

  std::vector<std::size_t> boundaries() {
    std::vector<std::size_t> begins;
    for (std::size_t at = 0; at < units_.size(); ++at) {
      const bool breaks = at == 0 || !is_joined_at(at);
      if (units_[at].kind == WordBreak::kRegional)
        ++flags_;
      else
        flags_ = 0;
      if (breaks) begins.push_back(units_[at].begin);
    }
    return begins;
  }

 private:
  WordBreak kind(std::size_t at) const {  // outside the text: another kind
    return at < units_.size() ? units_[at].kind : WordBreak::kOther;
  }

  bool is_joined_at(std::size_t at) const {
    const Unit& a = units_[at - 1];
    const Unit& b = units_[at];
    if (a.kind == WordBreak::kCr && b.kind == WordBreak::kLf) return true;
    if (is_line_end(a.kind) || is_line_end(b.kind)) return false;
    if (a.ends_in_joiner && is_pictogram(b.code)) return true;
    if (a.kind == WordBreak::kSpace && b.kind == WordBreak::kSpace) return a.is_alone;
    if (a.kind == WordBreak::kRegional && b.kind == WordBreak::kRegional) return flags_ % 2 == 1;
    if (breaks_.runs_of_scripts && is_run(a, b)) return true;
    return heed::is_joined(kind(at - 2), a.kind, b.kind, kind(at + 1));
  }

  bool is_run(const Unit& a, const Unit& b) const {
    if (a.kind == WordBreak::kHan && b.kind == WordBreak::kHan) return has_japanese_;
    return a.kind == b.kind && (a.kind == WordBreak::kHiragana || a.kind == WordBreak::kUnspaced);
  }

  std::vector<Unit> units_;
  WordBreaks breaks_;
  bool has_japanese_ = false;
  int flags_ = 0;  // consecutive regional indicators before this one
};

}  // namespace

std::vector<std::size_t> word_boundaries(std::string_view text, WordBreaks breaks) {
  return UnicodeWords(text, breaks).boundaries();
}

namespace {

bool ends_sentence(char32_t code) {
  const auto* range = std::ranges::lower_bound(kSentenceEnds, code, {}, &CharacterRange::last);
  return range != std::end(kSentenceEnds) && code >= range->first;
}

bool is_stop(char32_t code) {  // ATerm
  return code == '.' || code == 0x2024 || code == 0xFE52 || code == 0xFF0E;
}

bool ends_line(char32_t code) {
  return code == '\n' || code == '\r' || code == 0x85 || code == 0x2028 || code == 0x2029;
}

bool closes(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PF:
      return true;
    default:
      return code == '"' || code == '\'';
  }
}

class Sentences {
 public:
  explicit Sentences(std::string_view text) : text_(text) {}

  std::vector<std::size_t> boundaries() {
    if (!text_.empty()) begins_.push_back(0);
    while (at_ < text_.size()) {
      const char32_t code = take();
      if (ends_line(code)) {
        skip([](char32_t next) { return is_space(next); });
        begin();
      } else if (is_stop(code) || ends_sentence(code)) {
        close(is_stop(code));
      }
    }
    return begins_;
  }

 private:
  char32_t peek() const {
    if (at_ >= text_.size()) return 0;
    const Character character = character_at(text_, at_);
    return character.bytes == 0 ? 0xFFFD : character.code;
  }

  char32_t take() {
    const char32_t code = peek();
    at_ += std::max<std::size_t>(1, character_at(text_, at_).bytes);
    return code;
  }

  std::size_t skip(auto takes) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && takes(peek())) take();
    return at_ - begin;
  }

  void begin() {
    if (at_ < text_.size() && at_ > begins_.back()) begins_.push_back(at_);
  }

  // After a sentence end: further ends, closing characters, spaces. `stop`: it may be a full stop
  // inside a number, a name or an abbreviation.
  void close(bool stop) {
    skip([&](char32_t next) {
      if (!is_stop(next) && ends_sentence(next)) stop = false;
      return is_stop(next) || ends_sentence(next);
    });
    const std::size_t closing = skip(closes);
    const std::size_t spaces =
        skip([](char32_t next) { return is_space(next) && !ends_line(next); });
    const char32_t next = peek();
    if (ends_line(next)) return;  // the line end belongs to the sentence
    const bool is_inside = closing + spaces == 0 && (is_letter(next) || is_number(next));
    if (stop && (is_inside || (traits_of(next) & kLower) != 0)) return;
    begin();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::size_t> begins_;
};

}  // namespace

std::vector<std::size_t> sentence_boundaries(std::string_view text) {
  return Sentences(text).boundaries();
}

}  // namespace heed
