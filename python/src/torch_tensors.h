// Tensors of PyTorch whose bytes are not their values.
#pragma once

#include "arrays.h"

namespace heed::python {

/// A torch.Tensor, not of a subclass, that no tracer or transform of PyTorch watches.
bool is_plain_tensor(nb::handle object);

/// Autograd makes tensors of zeros without memory: torch._efficientzerotensor.
bool is_lazy_zero(nb::handle object);

/// The tensor, or a copy whose bytes are its values. Refuses a tensor with a forward-mode tangent.
nb::object values_of(const char* argument, nb::object object);

/// The tensor, to whose memory heed writes values.
nb::object as_output(const char* argument, nb::object object);

/// Refuses a subclass that overrides PyTorch's functions: its own memory may be unused.
void check_tensor_type(const char* argument, nb::handle type);

}  // namespace heed::python
