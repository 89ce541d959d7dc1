// A session that has run with edits.
#pragma once

#include "inspect/evidence/edited_run.h"
#include "inspect/session/session_input.h"

namespace heed::test {

inline Session edited_session(const Session& session, const Edits& edits, const LoadedModel& model,
                              const SessionOptions& options = {}) {
  Session edited = with_edits(session, edits);
  run_session(edited, model, options);
  return edited;
}

}  // namespace heed::test
