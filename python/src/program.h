// The program `heed`, for the package's command.
#pragma once

#include <nanobind/nanobind.h>

namespace heed::python {

namespace nb = nanobind;

void bind_program(nb::module_& module);

}  // namespace heed::python
