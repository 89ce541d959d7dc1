// Sessions in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/look.h"
#include "inspect/answers/live_session.h"
#include "model.h"
#include "problem.h"

namespace heed::python {

/// A session with everything that it refers to.
struct HeldSession {
  std::shared_ptr<const LoadedModel> model;  // null for arrays
  std::vector<Problem> problems;             // for arrays: the memory of masks and biases
  SessionInput input;
  Session session;
  bool logits = false, hidden = false;  // whether passes keep those of every token
  std::vector<HeadScores> scores;       // of every head, once they were asked for
  SessionPointer live;  // with the statistics of every head, once a page was asked for
  std::shared_ptr<HeldSession> beside;  // the run that the page compares it with
  std::string beside_name;
};

using SessionHandle = std::shared_ptr<HeldSession>;

/// A stack of the session by name; by default the first.
const SessionStack& stack_named(const HeldSession& held, const std::optional<std::string>& name);

/// The same tokens, run under edits, which may look at `masks`.
SessionHandle edited_session(const SessionHandle& base, const Edits& edits,
                             std::vector<Problem> masks);
/// The session as a page asks it, under an id; its pass has ended.
SessionPointer live_session(const HeldSession& held, const std::string& id);
/// The same of the run beside it, by its name; null where there is none.
SessionPointer live_beside(const HeldSession& held);

/// The scores of every head, computed once.
const std::vector<HeadScores>& scores_of(HeldSession& held);

void bind_session(nb::module_& module);         // and how it is opened with a model
void bind_session_arrays(nb::module_& module);  // ... and of arrays
void bind_session_looks(nb::module_& module);   // what `heed look` shows, as JSON and as text
void bind_session_edits(nb::module_& module);   // the same tokens under edits
void bind_session_files(nb::module_& module);   // the page as a file, and pictures of it
void bind_page_answers(nb::module_& module);    // questions of a page in a notebook

}  // namespace heed::python
