// Masks in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "arrays.h"
#include "heed/mask.h"

namespace heed::python {

/// A mask and the arrays that it refers to.
struct HeldMask {
  Mask mask;
  std::vector<Borrowed> memory;
};

void bind_masks(nb::module_& module);

/// `tile(batch, head, row_begin, row_end, key_begin, key_end)` returns a row-major bool array
/// [rows, keys]. It is called with the GIL, from any thread.
Mask custom_mask(nanobind::callable tile, std::string name);

}  // namespace heed::python
