// Options shared by several commands: file formats, and errors that name options.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options/arguments.h"
#include "cli/options/option.h"
#include "heed/error.h"

namespace heed::cli {

/// The format, one of `known`, whose first is the default: `given` (--format), else from the ending
/// of `out` ("txt" is text), ignoring case. Throws if both are given and differ, and if `given` is
/// empty and the ending unknown: "a.jsn" must not contain text.
std::string format_of(const std::string& given, const std::string& out,
                      std::span<const char* const> known);

/// `--json`, short for `--format json`. `given` becomes true if it has a value, which is rejected.
Option json_option(bool& given);

/// `--format text|json` and `--json`, for a command that prints either. `of_json`: the JSON's
/// content.
void add_json_options(OptionList& list, bool& json, const std::string& of_json = "the same");

/// The error with its argument renamed to the option: `--top-p is 2` for `top_p`, `K's shape[2] is
/// 6` for `k.shape[2]`. An option has its argument's name with hyphens, except for the few in
/// option_names.cpp. Values not from the command line (a file's member, a default) keep the
/// library's name. The line begins with `command`, so an operation of that name is omitted.
Error in_options(const Given& given, std::string_view command, const Error& error);

}  // namespace heed::cli
