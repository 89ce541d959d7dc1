// `heed look --heads`: heads sorted by score, largest first, filtered.
#pragma once

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

}  // namespace heed::cli
