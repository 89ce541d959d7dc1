// How a command that fails ends: one line and a status.
#pragma once

#include <string>
#include <string_view>

#include "heed/error.h"

namespace heed::cli {

/// 1 the work failed, 2 bad input, 130 after Ctrl-C.
int exit_status(ErrorCode code);

/// "heed train: ...", without an end; scripts read stderr by lines, so an error is one.
std::string error_line(std::string_view command, std::string message);

}  // namespace heed::cli
