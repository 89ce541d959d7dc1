// What `heed look`'s options ask of a session: rows, keys and cells of a head.
#pragma once

#include "cli/look/look_options.h"
#include "heed/inspect/look.h"

namespace heed::cli {

/// Where no option names the head it is left open. Errors name the option.
LookRequest request_of(const LookOptions& options, const Session& session, Stack stack);

/// Asks a long text for its last rows alone, unless the user says how many; returns how many are
/// left out.
std::int64_t choose_rows(const LookOptions& options, const Session& session, LookRequest& request);

}  // namespace heed::cli
