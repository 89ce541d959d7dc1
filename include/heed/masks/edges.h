// A graph as a mask: attention over a node's neighbours.
#pragma once

#include "heed/masks/mask.h"
#include "heed/tensor/view.h"

namespace heed {

/// Visible along the edges of a graph in compressed sparse rows, the same for every batch and head:
/// query i sees the keys columns[row_starts[i]] .. columns[row_starts[i + 1] - 1], which rise
/// strictly. `row_starts` has Tq + 1 entries; both are i32 or i64 and are copied.
Mask edges(const ConstView& row_starts, const ConstView& columns);

}  // namespace heed
