// Copies between memories of different strides.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// Every element of `from` to its place in `to`, which has its shape and type and overlaps neither
/// it nor itself.
void copy_elements(const ConstView& from, const View& to);

}  // namespace heed
