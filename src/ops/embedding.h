// Rows of a table by id.
#pragma once

#include "heed/tensor.h"
#include "ops/packed_matrix.h"

namespace heed {

/// out[..., :] = table[ids[...], :]. table [V, C], ids i32 of any shape, both row-major; out is of
/// the table's type, f32 or f64, and f32 of a table in f16 or bf16. An id outside of 0 .. V-1 is an
/// error that names its place.
Tensor embedding(const ConstView& table, const ConstView& ids);

/// The same of a table whose transpose [C, V] is packed, as that of a tied head is; f32.
Tensor embedding(const PackedMatrix& table, const ConstView& ids);

/// dtable[ids[...], :] += dy[..., :], repeated ids in their order: deterministic.
void embedding_backward(const ConstView& ids, const ConstView& dy, const View& dtable);

}  // namespace heed
