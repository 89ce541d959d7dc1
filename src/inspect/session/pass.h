// Runs one pass over a session's tokens, under its edits, with a tap on the activations.
#pragma once

#include <atomic>

#include "heed/session.h"

namespace heed {

struct PassOptions {
  Tap* tap = nullptr;
  bool all_positions = false;  // logits of every position instead of the last one
  const std::atomic<bool>* stopped = nullptr;
};

/// Returns logits [T or 1, V]; for a model without a word head, the last states [T, C]. Keeps
/// nothing else.
Tensor pass_over(const Session& session, const LoadedModel& model, const PassOptions& options);

}  // namespace heed
