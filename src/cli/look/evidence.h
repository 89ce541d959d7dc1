// What `heed look --flow` and `--why` print.
#pragma once

#include <cstdint>
#include <string>

#include "cli/terminal/terminal.h"
#include "heed/inspect/look.h"
#include "heed/models/registry.h"
#include "inspect/evidence/flow_effects.h"

namespace heed::cli {

struct FlowOptions {
  FlowRequest flow;
  bool by_effect = false;
  std::string format;    // text, json, graphml or dot
  std::int64_t top = 8;  // tokens and paths that are listed
};

/// The graph as a file; as text shares, paths, and how far to trust them.
std::string look_flow(const Terminal& terminal, const Session& session, const LoadedModel& model,
                      const FlowOptions& options);

/// One weight of one head.
struct WhyCell {
  ChosenHead head;
  std::int64_t query = 0, key = 0;
};

/// The score as a sum, by dimension, against its row, what its value wrote, the run without it.
std::string why_text(const Terminal& terminal, const Session& session, const LoadedModel& model,
                     const WhyCell& cell);

/// As the server's `why` answers it.
std::string why_json(const Session& session, const LoadedModel& model, const WhyCell& cell);

}  // namespace heed::cli
