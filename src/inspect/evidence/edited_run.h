// A session's tokens run again under edits: as a session, or only as what comes out, which is cheap
// enough to ablate every head in turn.
#pragma once

#include <optional>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// Throws for what the session has no place for: a head, a position, a token id; two tokens in one
/// place; and where no token of a side would be left to see. `op` begins the message.
void check_edits(std::string_view op, const Session& session, const Edits& edits);

/// `session`'s tokens under its own edits and these, yet to be run. Offsets of tokens stay those of
/// the text.
Session with_edits(const Session& session, const Edits& edits);

/// The same, run: everything that a session keeps.
Session edited_session(const Session& session, const Edits& edits, const LoadedModel& model,
                       const SessionOptions& options = {});

struct OutputOptions {
  bool all_positions = false;  // else of the last one alone; of a model without words always all
  const std::atomic<bool>* stopped = nullptr;
};

/// Logits [T or 1, V], or of a model without them the last states [T, C]. Keeps nothing of the
/// attentions. No edits: what the session gave itself.
Tensor edited_output(const Session& session, const Edits& edits, const LoadedModel& model,
                     const OutputOptions& options = {});

/// Nats a token, -log p: of each token after the first, where the model writes; of each token in
/// its own place, where it fills masks. Without words an error (kUnsupported).
std::vector<double> edited_losses(const Session& session, const Edits& edits,
                                  const LoadedModel& model,
                                  const std::atomic<bool>* stopped = nullptr);

}  // namespace heed
