// `heed look --heads`: heads sorted by score, largest first, filtered. A table of heads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/terminal/terminal.h"
#include "heed/look.h"
#include "heed/session.h"

namespace heed::cli {

class ProgressLine;

/// The heads of a stack with the requested scores.
struct Ranking {
  HeadFilter filter;
  std::vector<std::size_t> columns;      // indices in score_infos(); the first one ranks
  std::vector<HeadScores> heads;         // that pass, largest first
  std::size_t of = 0;                    // total number of heads
  std::vector<HeadScores> nearest = {};  // if none passes: those closest to passing
};

/// The syntax of --heads, and the names of scores.
std::string filter_forms();

/// Parses --heads ("all": every head) and checks its scores, layers and heads before the model
/// runs.
HeadFilter ranking_filter(const std::string& text, const std::string& model,
                          const StackShape& shape);

/// Computes scores that need passes of the model only if the filter names them.
Ranking rank_heads(const Session& session, const LoadedModel& model, Stack stack,
                   const HeadFilter& filter, ProgressLine& progress);

std::string ranking_text(const Terminal& terminal, const Ranking& ranking);
std::string ranking_json(const Ranking& ranking, bool causal);

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
