// The first line of a model's description.
#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "heed/error.h"
#include "heed/tokenizer.h"
#include "models/search_path.h"

namespace heed {
namespace {

constexpr std::string_view kSpaces = " \t\r";

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(kSpaces);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_last_not_of(kSpaces) - begin + 1);
}

// Headings, HTML and images are useless on a terminal.
bool is_prose(const std::string& line) {
  return std::string_view("#<!").find(line.front()) == std::string_view::npos;
}

// The bracket that closes the one at `open`; npos if there is none.
std::size_t closing(std::string_view text, std::size_t open) {
  const char opens = text[open];
  const char closes = opens == '[' ? ']' : ')';
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == opens) ++depth;
    if (text[at] == closes && --depth == 0) return at;
  }
  return std::string_view::npos;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Removes the markup of links, images, emphasis and code.
class Plain {
 public:
  explicit Plain(std::string_view markdown) : text_(markdown) {}

  std::string read() {
    while (at_ < text_.size())
      if (!link() && !emphasis() && !escape()) plain_ += text_[at_++];
    return std::move(plain_);
  }

 private:
  // [words](address) becomes its words, ![words](address) is dropped.
  bool link() {
    const bool image = text_.substr(at_).starts_with("![");
    const std::size_t open = at_ + (image ? 1 : 0);
    if (open >= text_.size() || text_[open] != '[') return false;
    const std::size_t end = closing(text_, open);
    if (end == std::string_view::npos || end + 1 == text_.size()) return false;
    if (text_[end + 1] != '(' && text_[end + 1] != '[') return false;
    const std::size_t behind = closing(text_, end + 1);
    if (behind == std::string_view::npos) return false;
    if (!image) plain_ += Plain(text_.substr(open + 1, end - open - 1)).read();
    at_ = behind + 1;
    return true;
  }

  // A star between spaces and an underscore within a word are literal.
  bool emphasis() {
    const char mark = text_[at_];
    if (mark != '*' && mark != '_' && mark != '`') return false;
    const std::size_t end = std::min(text_.find_first_not_of(mark, at_), text_.size());
    const char before = at_ == 0 ? ' ' : text_[at_ - 1];
    const char after = end == text_.size() ? ' ' : text_[end];
    const bool alone = before == ' ' && after == ' ';
    const bool inside = mark == '_' && is_word(before) && is_word(after);
    if (alone || inside) plain_ += text_.substr(at_, end - at_);
    at_ = end;
    return true;
  }

  bool escape() {
    const bool is_one = text_[at_] == '\\' && at_ + 1 < text_.size() &&
                        std::ispunct(static_cast<unsigned char>(text_[at_ + 1])) != 0;
    if (!is_one) return false;
    plain_ += text_[at_ + 1];
    at_ += 2;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string plain_;
};

std::string first_paragraph(const std::string& markdown) {
  std::istringstream lines(markdown);
  std::string paragraph;
  std::string line;
  bool front_matter = false;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trimmed(line);
    if (line == "---" && (number == 1 || front_matter)) {
      front_matter = number == 1;
      continue;
    }
    if (front_matter) continue;
    if (!line.empty() && is_prose(line)) {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    } else {
      const std::string plain = trimmed(Plain(paragraph).read());
      if (!plain.empty()) return plain;
      paragraph.clear();  // only pictures
    }
  }
  return trimmed(Plain(paragraph).read());
}

}  // namespace

std::string card_line(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* name : {"card.md", "README.md"}) {
    const std::filesystem::path card = folder / name;
    if (!std::filesystem::is_regular_file(card, ignored)) continue;
    try {
      const std::string text = read_file(card);
      if (find_invalid_utf8(text) < 0) return first_paragraph(text);
    } catch (const Error&) {  // a broken card is no reason to reject a model
    }
  }
  return {};
}

}  // namespace heed
