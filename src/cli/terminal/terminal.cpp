#include "cli/terminal/terminal.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>

#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed::cli {
namespace {

// Decodes the character at `at` and advances `at`; an invalid byte takes one cell.
int next_cells(std::string_view text, std::size_t& at) {
  const Character character = character_at(text, at);
  at += character.bytes == 0 ? 1 : character.bytes;
  return character.bytes == 0 ? 1 : terminal_cells(character.code);
}

}  // namespace

int cell_width(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) width += next_cells(text, at);
  return width;
}

std::string truncated(std::string_view text, int cells, std::string_view mark) {
  if (cell_width(text) <= cells) return std::string(text);
  int width = 0;
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    width += next_cells(text, at);
    if (width > cells - 1) break;
    end = at;
  }
  return std::string(text.substr(0, end)) + std::string(mark);
}

namespace {

constexpr int kUnknownWidth = 100;
constexpr int kLeastWidth = 16;

bool locale_is_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

int width_of_terminal() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int wanted = columns != nullptr ? std::atoi(columns) : 0;
  return wanted > 0 ? wanted : kUnknownWidth;
}

std::string_view escape(Style style) {
  constexpr std::string_view kEscapes[] = {"", "\x1b[1m", "\x1b[90m", "\x1b[94m", "\x1b[7m"};
  return kEscapes[static_cast<std::size_t>(style)];
}

}  // namespace

Terminal detect_terminal(std::string_view colour) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const char* no_color = std::getenv("NO_COLOR");
  const bool refused = no_color != nullptr && *no_color != '\0';
  Terminal answer;
  answer.width = std::max(kLeastWidth, width_of_terminal());
  answer.bold = colour == "always" || (colour == "auto" && terminal);
  answer.colour = colour == "always" || (colour == "auto" && terminal && !refused);
  answer.utf8 = locale_is_utf8();
  return answer;
}

Line& Line::put(std::string_view text, Style style) {
  if (text.empty()) return *this;
  const int room = terminal_.width - column_;
  if (terminal_.cuts() && cell_width(text) > room) return put_cut(text, room, style);
  text_.append(static_cast<std::size_t>(spaces_), ' ');
  spaces_ = 0;
  const bool allowed = style == Style::kBold ? terminal_.bold : terminal_.colour;
  const std::string_view begin = allowed ? escape(style) : "";
  text_ += begin;
  text_ += text;
  if (!begin.empty()) text_ += "\x1b[0m";
  column_ += cell_width(text);
  return *this;
}

Line& Line::put_cut(std::string_view text, int room, Style style) {
  if (room <= 0) return *this;
  return put(truncated(text, room, terminal_.utf8 ? "…" : "~"), style);
}

Line& Line::to(int column) {
  spaces_ += std::max(0, column - column_);
  column_ = std::max(column, column_);
  return *this;
}

Line& Line::right(int end, std::string_view text, Style style) {
  return to(std::max(end - cell_width(text), column_ == 0 ? 0 : column_ + 1)).put(text, style);
}

std::string Line::str() const { return text_ + "\n"; }

std::string bar(const Terminal& terminal, double fraction, int cells) {
  if (!(fraction >= 0.005) || cells <= 0) return {};
  const int halves =
      std::max(1, static_cast<int>(std::lround(std::min(fraction, 1.0) * cells * 2)));
  std::string text;
  for (int i = 0; i < halves / 2; ++i) text += terminal.utf8 ? "━" : "=";
  if (halves % 2 != 0) text += terminal.utf8 ? "╸" : "-";
  return text;
}

std::string weight_text(double weight) {
  if (weight == 0) return "0";
  if (weight < 0.0005) return "<.001";
  if (weight >= 0.9995) return "1.00";
  return fmt::format("{:.3f}", weight).substr(1);
}

std::string heading(const Terminal& terminal, std::string_view title,
                    std::string_view explanation) {
  Line line(terminal);
  line.put(title, Style::kBold);
  const int needed = cell_width(title) + 2 + cell_width(explanation);
  if (needed > terminal.width) return line.str() + paragraph(terminal, explanation, 2);
  return line.to(line.column() + 2).put(explanation, Style::kDim).str();
}

std::string paragraph(const Terminal& terminal, std::string_view text, int indent) {
  std::string lines;
  while (!text.empty()) {
    std::size_t end = text.size();
    while (cell_width(text.substr(0, end)) > terminal.width - indent) {
      const std::size_t space = text.rfind(' ', end - 1);
      if (space == std::string_view::npos || space == 0) break;
      end = space;
    }
    std::size_t next = end + 1;
    if (terminal.cuts() && cell_width(text.substr(0, end)) > terminal.width - indent)  // one word
      next = end = truncated(text, terminal.width - indent + 1, "").size();
    lines += Line(terminal).to(indent).put(text.substr(0, end), Style::kDim).str();
    text.remove_prefix(std::min(text.size(), next));
  }
  return lines;
}

std::string number_word(std::int64_t number) {
  static constexpr const char* kWords[] = {"zero", "one",    "two",   "three", "four",
                                           "five", "six",    "seven", "eight", "nine",
                                           "ten",  "eleven", "twelve"};
  if (number >= 0 && number <= 12) return kWords[number];
  return std::to_string(number);
}

std::string ordinal(std::int64_t number) {
  const std::int64_t tens = number % 100;
  const std::int64_t ones = number % 10;
  const bool teens = tens >= 11 && tens <= 13;
  const char* ending = teens ? "th" : ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th";
  return std::to_string(number) + ending;
}

}  // namespace heed::cli
