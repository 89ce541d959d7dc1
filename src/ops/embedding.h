// Rows of a table by id.
#pragma once

#include "heed/tensor/tensor.h"
#include "ops/packed_matrix.h"

namespace heed {

/// out[..., :] = table[ids[...], :]. table [V, C] f32 or f64, ids i32 of any shape, both row-major.
/// An id outside of 0 .. V-1 is an error that names its place.
Tensor embedding(const ConstView& table, const ConstView& ids);

/// The same of a table whose transpose [C, V] is packed, as that of a tied head is; f32.
Tensor embedding(const PackedMatrix& table, const ConstView& ids);

/// dtable[ids[...], :] += dy[..., :], repeated ids in their order: deterministic.
void embedding_backward(const ConstView& ids, const ConstView& dy, const View& dtable);

}  // namespace heed
