// `heed look --heads`: heads by their scores, the largest first, filtered.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/terminal.h"
#include "heed/inspect/heads.h"
#include "heed/inspect/session.h"

namespace heed::cli {

class ProgressLine;

/// Every head of a stack with the scores that it was asked for.
struct Ranking {
  HeadFilter filter;
  std::vector<std::size_t> columns;      // as score_infos(); the first one ranks
  std::vector<HeadScores> heads;         // that pass, the largest first
  std::size_t of = 0;                    // heads that there are
  std::vector<HeadScores> nearest = {};  // where none passes: those that come closest to it
};

/// How --heads is written, and the scores that it can name.
std::string filter_forms();

/// Reads --heads ("all": every head) and checks its scores, layers and heads before the model
/// runs.
HeadFilter ranking_filter(const std::string& text, const std::string& model,
                          const StackShape& shape);

/// Those that take passes of the model are computed where the filter names them.
Ranking rank_heads(const Session& session, const LoadedModel& model, Stack stack,
                   const HeadFilter& filter, ProgressLine& progress);

std::string ranking_text(const Terminal& terminal, const Ranking& ranking);
std::string ranking_json(const Ranking& ranking, bool causal);

}  // namespace heed::cli
