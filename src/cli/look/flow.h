// `heed look --flow`: what flowed into one token through the layers.
#pragma once

#include <cstdint>
#include <string>

#include "cli/terminal/terminal.h"
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

}  // namespace heed::cli
