// A table of heads: the largest score of each with its name, or two numbers of each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/terminal/terminal.h"

namespace heed::cli {

struct NamedScore {
  const char* name;  // at most 5 cells
  char letter;       // stands for the name in narrow columns
  double value = 0;
};

/// One head's entry, for wide columns and for narrow ones.
struct HeadEntry {
  std::string wide, narrow;
  bool bold = false;
  bool chosen = false;
  int layer = 0;
};

/// The largest of the scores.
HeadEntry head_entry(std::span<const NamedScore> scores, bool chosen = false);
/// Two shares, `.79 .82`; bold by the first.
HeadEntry head_entry(double first, double second, bool chosen);

struct HeadsTable {
  std::string title;
  std::string explanation;              // of the scores
  std::vector<std::string> legend;      // of the letters, in its place over narrow columns
  std::string note = {};                // behind either
  int heads = 0;                        // a layer
  int narrow_cells = 5;                 // of an entry in a narrow column
  std::vector<HeadEntry> entries = {};  // layer by layer
};

/// Scores below this have no name in the table: `kNoName` says so behind an explanation.
inline constexpr double kNamedFrom = 0.2;
inline constexpr const char* kNoName = "; -: no score reaches 0.2";

/// "L1.H5", as the addresses of views spell it.
std::string head_name(int layer, int head);

std::string heads_table(const Terminal& terminal, const HeadsTable& table);

}  // namespace heed::cli
