// Runs a session's tokens again under edits: as a session, or only for the output, which is cheap
// enough to ablate every head in turn.
#pragma once

#include <vector>

#include "heed/session.h"

namespace heed {

/// Throws for edits that the session cannot have: a missing head, position or token id; two tokens
/// in one place; a side without any visible token. `op` begins the message.
void check_edits(std::string_view op, const Session& session, const Edits& edits);

/// `session`'s tokens under its own edits and these, not yet run. Token offsets remain those of the
/// text.
Session with_edits(const Session& session, const Edits& edits);

struct OutputOptions {
  bool all_positions = false;  // false: only the last one; without a vocabulary always all
  const std::atomic<bool>* stopped = nullptr;
};

/// Logits [T or 1, V], or the last states [T, C] of a model without logits. Keeps no attentions.
/// Without edits: the session's own output.
Tensor edited_output(const Session& session, const Edits& edits, const LoadedModel& model,
                     const OutputOptions& options = {});

/// Nats per token, -log p: for each token after the first if the model generates; for each token in
/// its place if it fills masks. kUnsupported without a vocabulary.
std::vector<double> edited_losses(const Session& session, const Edits& edits,
                                  const LoadedModel& model,
                                  const std::atomic<bool>* stopped = nullptr);

}  // namespace heed
