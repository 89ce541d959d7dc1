// The library names arguments, the command line the options that gave them.
#pragma once

#include <string_view>

#include "cli/options/arguments.h"
#include "heed/error.h"

namespace heed::cli {

/// The error with its argument under the name of the option that gave it: `--top-p is 2` for
/// `top_p`, `K's shape[2] is 6` for `k.shape[2]`. An option has its argument's name with hyphens,
/// but for the few that option_names.cpp lists; what was not given on the command line (a member of
/// a file, a default) keeps the library's name. The line begins with `command`, so an
/// operation of that name is left out.
Error in_options(const Given& given, std::string_view command, const Error& error);

}  // namespace heed::cli
