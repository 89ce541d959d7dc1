// The library names arguments (`top_p is 2`); who wrote `--top-p 2` is told of that option.
#pragma once

#include <string>

#include "cli/options/arguments.h"

namespace heed::cli {

/// The message with arguments replaced by the options that gave them. An argument's option has its
/// name with hyphens, but for the few that option_names.cpp lists (an observer is named as
/// --observe takes it); what was not given on the command line (a file, a default) keeps the
/// library's name.
std::string in_options(const Given& given, const std::string& message);

}  // namespace heed::cli
