// Rows of a table by id.
#pragma once

#include "heed/tensor.h"
#include "ops/packed_matrix.h"

namespace heed {

/// out[..., :] = table[ids[...], :]. table [V, C], ids i32 of any shape, both row-major; out has
/// the table's type, f32 or f64; for f16 and bf16 tables it is f32. The error for an id outside 0
/// .. V-1 names its place.
Tensor embedding(const ConstView& table, const ConstView& ids);

/// The same for a table whose transpose [C, V] is packed, like a tied head's; f32.
Tensor embedding(const PackedMatrix& table, const ConstView& ids);

/// dtable[ids[...], :] += dy[..., :]; repeated ids are added in order: deterministic.
void embedding_backward(const ConstView& ids, const ConstView& dy, const View& dtable);

}  // namespace heed
