// What `heed look`'s options ask of a session, and what a link of --view says in their place.
#pragma once

#include <string>

#include "cli/look/look_options.h"
#include "heed/inspect/look.h"

namespace heed::cli {

/// Where no option names the head it is left open; as text, a long one's rows are limited unless
/// the user says how many. Errors name the option.
LookRequest request_of(const LookOptions& options, const Session& session, Stack stack);

/// Takes the model and the text that --view names out of it and into the options, where the command
/// line gives none; naming them twice is refused. Answers the second text, "" without one.
std::string take_link(LookOptions& options);

/// The second text of a link, as what the model reads it: the second of a pair, or the target.
void take_second(LookOptions& options, const std::string& second, const ModelInfo& info);

}  // namespace heed::cli
