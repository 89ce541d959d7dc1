// Sessions in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/inspect/look.h"
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
  std::vector<HeadScores> scores;  // of every head, after the first request
  SessionPointer live;             // with every head's statistics, after the first page request
};

using SessionHandle = std::shared_ptr<HeldSession>;

/// A stack of the session by name; by default the first.
const SessionStack& stack_named(const HeldSession& held, const std::optional<std::string>& name);

/// The scores of every head, computed once.
const std::vector<HeadScores>& scores_of(HeldSession& held);

void bind_session(nb::module_& module);         // and how it is opened with a model
void bind_session_arrays(nb::module_& module);  // ... and from arrays
void bind_session_looks(nb::module_& module);   // the content of `heed look`, as JSON and as text
void bind_session_files(nb::module_& module);   // the page as a file, and pictures of it
void bind_page_answers(nb::module_& module);    // questions of a page in a notebook

}  // namespace heed::python
