// Models that write, and models that learn.
#pragma once

#include <nanobind/nanobind.h>

namespace heed::python {

void bind_generation(nanobind::module_& module);
void bind_training(nanobind::module_& module);

}  // namespace heed::python
