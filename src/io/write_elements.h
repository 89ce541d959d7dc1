// The elements of any view, in row-major order, into a file.
#pragma once

#include "heed/tensor.h"
#include "io/atomic_file.h"

namespace heed {

/// Never holds more than a small piece in memory beside the view. A `dtype` other than the view's
/// converts between floating types.
void write_elements(AtomicFile& file, const ConstView& view, DType dtype);

}  // namespace heed
