// A boolean tensor as a mask.
#pragma once

#include "heed/masks/mask.h"
#include "heed/tensor/view.h"

namespace heed {

/// Visible where `keep` (bool or u8, not 0) is true. Broadcasts right-aligned to [B, H, Tq, Tk] by
/// stride 0 and is never materialised. Its columns are keys, not slots: with padding on the left
/// column 0 is the key in slot key_begin (Extents in ops/attention.h, also for packed sequences).
/// The memory must outlive the mask.
Mask keep(const ConstView& keep);

}  // namespace heed
