// The line by which a model introduces itself.
#include <sstream>
#include <string>

#include "heed/models/registry.h"
#include "io/atomic_file.h"

namespace heed {
namespace {

constexpr std::string_view kSpaces = " \t\r";

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(kSpaces);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_last_not_of(kSpaces) - begin + 1);
}

// Headings, HTML and images say nothing on a terminal.
bool is_prose(const std::string& line) {
  return std::string_view("#<!").find(line.front()) == std::string_view::npos;
}

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
    } else if (!paragraph.empty()) {
      break;
    }
  }
  return paragraph;
}

}  // namespace

std::string card_line(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* name : {"card.md", "README.md"}) {
    const std::filesystem::path card = folder / name;
    if (!std::filesystem::is_regular_file(card, ignored)) continue;
    const std::string text = read_file(card);
    if (find_invalid_utf8(text) < 0) return first_paragraph(text);
  }
  return {};
}

}  // namespace heed
