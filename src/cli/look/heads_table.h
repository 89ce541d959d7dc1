// A table of heads: the largest score of each, with its name.
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

/// One head's entry: the largest of its scores.
struct HeadEntry {
  NamedScore largest;
  bool chosen = false;
};

HeadEntry head_entry(std::span<const NamedScore> scores, bool chosen = false);

struct HeadsTable {
  std::string title;
  std::string explanation;              // of the scores
  std::vector<std::string> legend;      // of the letters, for narrow columns
  int heads = 0;                        // a layer
  std::vector<HeadEntry> entries = {};  // layer by layer
};

/// Scores below this have no name in the table.
inline constexpr double kNamedFrom = 0.2;

std::string heads_table(const Terminal& terminal, const HeadsTable& table);

}  // namespace heed::cli
