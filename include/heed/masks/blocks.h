// Block-sparse attention.
#pragma once

#include <cstdint>

#include "heed/masks/mask.h"
#include "heed/tensor/view.h"

namespace heed {

/// How many queries and keys share one entry of a layout.
struct BlockSize {
  std::int64_t rows = 64;
  std::int64_t keys = 64;
};

/// Visible where layout[.., i / rows, j / keys] (bool or u8, not 0) is true. The layout has
/// ceil(Tq / rows) by ceil(Tk / keys) entries and broadcasts right-aligned over batch and heads by
/// stride 0. The memory must outlive the mask.
Mask blocks(const ConstView& layout, const BlockSize& size = {});

}  // namespace heed
