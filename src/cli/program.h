// The program `heed` as a function: of the executable, and of the Python package's command.
#pragma once

#include <string>
#include <vector>

namespace heed::cli {

/// Runs the command that `arguments` name, with handlers of signals of its own, and returns the
/// exit status. For a process that does nothing else.
int run_program(const std::vector<std::string>& arguments);

}  // namespace heed::cli
