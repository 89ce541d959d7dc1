// The program `heed` as a function, for the executable and the Python package's command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::cli {

/// Runs the command named in `arguments`, installs signal handlers, and returns the exit status.
/// Only for a process that does nothing else.
int run_program(const std::vector<std::string>& arguments);

/// The content of THIRD_PARTY.md, embedded by the build (cmake/notices.cmake).
std::string_view notices();

}  // namespace heed::cli
