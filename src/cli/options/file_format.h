// The format of a file that is written: what --format says, or how the name behind -o ends.
#pragma once

#include <span>
#include <string>

#include "cli/options/option.h"

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

}  // namespace heed::cli
