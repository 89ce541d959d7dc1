#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "text/unicode/break_ranges.h"
#include "text/unicode/breaks.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
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
