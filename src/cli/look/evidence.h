// The output of `heed look --flow` and `--why`.
#pragma once

#include <cstdint>
#include <string>

#include "cli/terminal/terminal.h"
#include "heed/look.h"
#include "heed/model.h"
#include "inspect/evidence/flow_effects.h"

namespace heed::cli {

struct FlowOptions {
  FlowRequest flow;
  bool by_effect = false;
  std::string format;    // text, json, graphml or dot
  std::int64_t top = 8;  // number of tokens and paths listed
};

/// The graph as a file; as text: shares, paths, and how far to trust them.
std::string look_flow(const Terminal& terminal, const Session& session, const LoadedModel& model,
                      const FlowOptions& options);

/// One weight of one head.
struct WhyCell {
  ChosenHead head;
  std::int64_t query = 0, key = 0;
};

/// The score as a sum, by dimension, compared with its row; the effect of its value; the run
/// without it. `choice`, the lines that say why heed chose the head, follows the title.
std::string why_text(const Terminal& terminal, const Session& session, const LoadedModel& model,
                     const WhyCell& cell, const std::string& choice);

/// The same JSON as the server's `why`.
std::string why_json(const Session& session, const LoadedModel& model, const WhyCell& cell);

}  // namespace heed::cli
