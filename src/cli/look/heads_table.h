// A table of heads: each head's largest score with its name, or two numbers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/terminal/terminal.h"

namespace heed::cli {

struct NamedScore {
  const char* name;  // at most 5 cells
  char letter;       // replaces the name in narrow columns
  double value = 0;
};

/// One head's entry, for wide and narrow columns.
struct HeadEntry {
  int layer = 0;
  std::string wide, narrow;
  bool bold = false;
  bool chosen = false;
};

/// The largest of the scores.
HeadEntry head_entry(int layer, std::span<const NamedScore> scores, bool chosen = false);
/// Two shares, `.79 .82`; the first decides whether it is bold.
HeadEntry head_entry(int layer, double first, double second, bool chosen);

struct HeadsTable {
  std::string title;
  std::string explanation;              // of the scores
  std::vector<std::string> legend;      // of the letters; replaces it above narrow columns
  std::string note = {};                // after either
  int heads = 0;                        // per layer
  int narrow_cells = 5;                 // of an entry in a narrow column
  std::vector<HeadEntry> entries = {};  // layer by layer
};

/// Scores below this are not named in the table: `kNoName` explains it.
inline constexpr double kNamedFrom = 0.2;
inline constexpr const char* kNoName = "; -: no score reaches 0.2";

/// "L1.H5", as in addresses of views.
std::string head_name(int layer, int head);

std::string heads_table(const Terminal& terminal, const HeadsTable& table);

}  // namespace heed::cli
