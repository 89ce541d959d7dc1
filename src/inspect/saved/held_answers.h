// What a saved page can answer of words, flows and one weight without a model: the questions that
// the page asks of the view that it is saved with, as they were answered then.
#pragma once

#include <map>
#include <string>

#include "heed/inspect/view.h"
#include "inspect/answers/live_session.h"

namespace heed {

/// By the question as the page's path has it: JSON, lines of JSON of a branch, base64 of numbers.
/// Empty where the view is another one. Without a model it holds heads, and flows by rollout.
std::map<std::string, std::string> held_answers(LiveSession& session, const ViewAddress& view);

}  // namespace heed
