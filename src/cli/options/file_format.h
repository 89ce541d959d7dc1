// Options of several commands: formats of files, and errors by the names of options.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options/arguments.h"
#include "cli/options/option.h"
#include "heed/error.h"

namespace heed::cli {

/// One of `known`, whose first is the default: `given` (--format), else what the ending of `out`
/// says ("txt" is text), in capitals too. Throws if both are given and differ, and if `given` is
/// empty and the ending is unknown: "a.jsn" must not hold text.
std::string format_of(const std::string& given, const std::string& out,
                      std::span<const char* const> known);

/// `--json`, short for `--format json`. `given` becomes true where it has a value, which is
/// refused.
Option json_option(bool& given);

/// `--format text|json` and `--json`, of a command that prints either. `of_json`: what JSON has.
void add_json_options(OptionList& list, bool& json, const std::string& of_json = "the same");

/// The error with its argument under the name of the option that gave it: `--top-p is 2` for
/// `top_p`, `K's shape[2] is 6` for `k.shape[2]`. An option has its argument's name with hyphens,
/// but for the few that option_names.cpp lists; what was not given on the command line (a member of
/// a file, a default) keeps the library's name. The line begins with `command`, so an
/// operation of that name is left out.
Error in_options(const Given& given, std::string_view command, const Error& error);

}  // namespace heed::cli
