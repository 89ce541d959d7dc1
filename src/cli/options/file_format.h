// The format of a file that is written: what --format says, or how the name behind -o ends.
#pragma once

#include <span>
#include <string>

namespace heed::cli {

/// One of `known`, whose first is the default: `--format` where it is given, else what the ending
/// of `out` says ("txt" is text), in capitals too. Throws where both are given and differ, and
/// where the ending is that of a format which is not written: text under such a name would be taken
/// for what it is not.
std::string format_of(const std::string& given, const std::string& out,
                      std::span<const char* const> known);

}  // namespace heed::cli
