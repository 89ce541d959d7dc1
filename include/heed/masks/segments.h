// Several documents in one sequence.
#pragma once

#include "heed/masks/mask.h"
#include "heed/tensor/view.h"

namespace heed {

/// Visible where query and key are of the same segment. Ids are i32 or i64, [T] for every batch or
/// [B, T], by logical index; they are copied. A document that stands in a long sequence this way
/// gives what it gives alone within rounding; with its own extents (ops/attention.h), bit for bit.
Mask segments(const ConstView& query_ids, const ConstView& key_ids);

/// Self-attention: queries and keys are the same tokens.
Mask segments(const ConstView& ids);

}  // namespace heed
