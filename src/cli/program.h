// The program `heed` as a function: of the executable, and of the Python package's command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::cli {

/// Runs the command that `arguments` name, with handlers of signals of its own, and returns the
/// exit status. For a process that does nothing else.
int run_program(const std::vector<std::string>& arguments);

/// The content of THIRD_PARTY.md; the build puts it into the program (cmake/notices.cmake).
std::string_view notices();

}  // namespace heed::cli
