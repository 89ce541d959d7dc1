// What `heed look`'s options ask of a session: rows, keys and cells of a head.
#pragma once

#include "cli/look/look_options.h"
#include "heed/inspect/look.h"

namespace heed::cli {

/// Where no option names the head it is left open; as text, a long one's rows are limited unless
/// the user says how many. Errors name the option.
LookRequest request_of(const LookOptions& options, const Session& session, Stack stack);

}  // namespace heed::cli
