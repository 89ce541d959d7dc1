#include "cli/terminal/cells.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace heed::cli {
namespace {

int cells_of(UChar32 character) {
  const int category = u_charType(character);
  if (category == U_NON_SPACING_MARK || category == U_ENCLOSING_MARK || category == U_FORMAT_CHAR)
    return 0;
  const int width = u_getIntPropertyValue(character, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

// Decodes the character at `at` and moves `at` behind it; a byte that is not UTF-8 is one cell.
int next_cells(std::string_view text, std::int32_t& at) {
  UChar32 character = 0;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  U8_NEXT(bytes, at, static_cast<std::int32_t>(text.size()), character);
  return character < 0 ? 1 : cells_of(character);
}

}  // namespace

int cell_width(std::string_view text) {
  int width = 0;
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(text.size());)
    width += next_cells(text, at);
  return width;
}

std::string truncated(std::string_view text, int cells, std::string_view mark) {
  if (cell_width(text) <= cells) return std::string(text);
  int width = 0;
  std::int32_t end = 0;
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(text.size());) {
    width += next_cells(text, at);
    if (width > cells - 1) break;
    end = at;
  }
  return std::string(text.substr(0, static_cast<std::size_t>(end))) + std::string(mark);
}

}  // namespace heed::cli
