// Masks as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "arrays.h"
#include "heed/mask.h"

namespace heed::python {

/// A mask and the arrays that it looks at.
struct HeldMask {
  Mask mask;
  std::vector<Borrowed> memory;
};

void bind_masks(nb::module_& module);

}  // namespace heed::python
