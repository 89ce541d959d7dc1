// `heed look --why`: why one weight is what it is, what its value did, and the text without it.
#pragma once

#include <string>

#include "cli/terminal/terminal.h"
#include "heed/inspect/look.h"
#include "heed/models/registry.h"

namespace heed::cli {

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
