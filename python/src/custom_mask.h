// A mask that a Python function decides.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "heed/mask.h"

namespace heed::python {

/// `tile(batch, head, row_begin, row_end, key_begin, key_end)` gives a row-major array of bool,
/// [rows, keys]. It is called with the GIL, from any thread.
Mask custom_mask(nanobind::callable tile, std::string name);

}  // namespace heed::python
