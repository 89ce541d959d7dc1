// Errors of the library name arguments; the command line names the options that gave them.
#pragma once

#include <string_view>

#include "cli/options/arguments.h"
#include "heed/error.h"

namespace heed::cli {

/// The error with its argument renamed to the option: `--top-p is 2` for `top_p`, `K's shape[2] is
/// 6` for `k.shape[2]`. An option has its argument's name with hyphens, except for the few in
/// option_names.cpp. Values not from the command line (a file's member, a default) keep the
/// library's name. The line begins with `command`, so an operation of that name is omitted.
Error in_options(const Given& given, std::string_view command, const Error& error);

}  // namespace heed::cli
