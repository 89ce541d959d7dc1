// One pass over a session's tokens, under its edits, for whoever looks at what it computes.
#pragma once

#include <atomic>

#include "heed/inspect/session.h"

namespace heed {

struct PassOptions {
  Tap* tap = nullptr;
  bool all_positions = false;  // logits of every position, not of the last one alone
  const std::atomic<bool>* stopped = nullptr;
};

/// Logits [T or 1, V], or of a model without them the last states [T, C]. Nothing else is kept.
Tensor pass_over(const Session& session, const LoadedModel& model, const PassOptions& options);

}  // namespace heed
