// What `heed COMMAND --help` prints.
#pragma once

#include <string>

#include "cli/command.h"

namespace heed::cli {

/// Summary, usage, arguments, options and examples, in lines of at most 100 characters. The targets
/// of the options hold the defaults.
std::string help_of(const Command& command, const OptionList& options);

}  // namespace heed::cli
