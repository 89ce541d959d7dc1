// How much room a text takes in a terminal.
#pragma once

#include <string>
#include <string_view>

namespace heed::cli {

/// Terminal cells of UTF-8 text: 2 for wide scripts, 0 for marks that combine, 1 otherwise.
int cell_width(std::string_view text);

/// The text, or as much of it as fits into `cells` with `mark` (one cell) at its end.
std::string truncated(std::string_view text, int cells, std::string_view mark);

}  // namespace heed::cli
