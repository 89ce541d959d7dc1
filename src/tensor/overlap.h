// Whether strided views share elements, exactly: interleaved layouts overlap in range, not in
// elements.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// True when two different indices of the view are the same element.
bool overlaps_itself(const ConstView& view);

/// True when some element of `a` is one of `b`.
bool overlap(const ConstView& a, const ConstView& b);

}  // namespace heed
