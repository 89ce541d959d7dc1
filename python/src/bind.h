// The functions with which each part adds itself to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace heed::python {

void bind_attention(nanobind::module_& module);
void bind_attention_of_tensors(nanobind::module_& module);

void bind_operators(nanobind::module_& module);         // RoPE, norms, softmax
void bind_linear_attention(nanobind::module_& module);  // with feature maps
void bind_networks(nanobind::module_& module);          // Hopfield, message passing
void bind_parts(nanobind::module_& module);             // merge, quantise

void bind_generation(nanobind::module_& module);
void bind_training(nanobind::module_& module);

namespace nb = nanobind;

void bind_program(nb::module_& module);

}  // namespace heed::python
