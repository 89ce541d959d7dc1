// The format of a file that is written: --format, or the ending of the name after -o.
#pragma once

#include <span>
#include <string>

#include "cli/options/option.h"

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

}  // namespace heed::cli
