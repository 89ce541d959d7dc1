// The operator, its gradients and its plan.
#pragma once

#include <nanobind/nanobind.h>

namespace heed::python {

void bind_attention(nanobind::module_& module);
void bind_attention_of_tensors(nanobind::module_& module);

}  // namespace heed::python
