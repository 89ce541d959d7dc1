// One sequence of a batch.
#pragma once

#include <cstdint>

#include "heed/attention.h"

namespace heed::python {

/// The problem of one sequence of `args`' batch. Nothing is copied: its mask asks that of `args`.
AttentionArgs one_sequence(const AttentionArgs& args, std::int64_t sequence);

/// [B, H, Tq] of the same; none where there is none.
ConstView one_sequence(const ConstView& array, std::int64_t sequence);

}  // namespace heed::python
