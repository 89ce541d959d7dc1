#include "cli/terminal/cells.h"

#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed::cli {
namespace {

// Decodes the character at `at` and moves `at` behind it; a byte that is not UTF-8 is one cell.
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

}  // namespace heed::cli
