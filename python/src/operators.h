// The operators beside attention.
#pragma once

#include <nanobind/nanobind.h>

namespace heed::python {

void bind_operators(nanobind::module_& module);         // RoPE, norms, softmax
void bind_linear_attention(nanobind::module_& module);  // with its feature maps
void bind_networks(nanobind::module_& module);          // Hopfield, message passing
void bind_parts(nanobind::module_& module);             // merge, quantise

}  // namespace heed::python
