// The program `heed` inside the interpreter's process, for the package's command, so that a wheel
// contains the engine once.
#include "cli/program.h"

#include <clocale>
#include <cstdlib>
#include <string>
#include <vector>

#include "bind.h"

namespace heed::python {
namespace {

// Ends the process like the program's main, without telling the interpreter: no Python code runs
// after it, and signals, streams and exit status are the program's.
[[noreturn]] void run_program(const nb::list& arguments) {
  std::vector<std::string> all;
  for (const nb::handle each : arguments) {
    const auto bytes = nb::cast<nb::bytes>(each);
    all.emplace_back(bytes.c_str(), bytes.size());
  }
  std::setlocale(LC_ALL, "C");  // the interpreter has set the environment's locale
  const nb::gil_scoped_release released;
  std::exit(cli::run_program(all));
}

}  // namespace

void bind_program(nb::module_& module) {
  module.def("run_program", &run_program, nb::arg("arguments"),
             "Runs the program with arguments of bytes, and ends the process with its status.");
}

}  // namespace heed::python
