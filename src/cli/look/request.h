// Turns `heed look`'s options, or a link of --view that replaces them, into a request.
#pragma once

#include <string>

#include "cli/look/look_options.h"
#include "heed/look.h"

namespace heed::cli {

/// If no option names a head, it is left open. For text output, a long text's rows are limited
/// unless the user gives a number. Errors name the option.
LookRequest request_of(const LookOptions& options, const Session& session, Stack stack);

/// Moves the model and text named in --view into the options, unless the command line gives them,
/// which is an error. Returns the second text, "" without one.
std::string take_link(LookOptions& options);

/// Sets a link's second text, as the second of a pair or as the target, depending on the model.
void take_second(LookOptions& options, const std::string& second, const ModelInfo& info);

}  // namespace heed::cli
