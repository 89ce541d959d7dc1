// How often tensors ask the system for memory, and what they keep of it.
#pragma once

#include <cstdint>

namespace heed {

/// Blocks of 1 KiB and more that tensors have taken from the system so far. Freed blocks are kept
/// for the next tensor of their size, so work that repeats stops taking new ones.
std::int64_t tensor_blocks_taken();

/// Returns the freed blocks to the allocator, up to 256 MB: for work that ends, and does not begin
/// again at once.
void free_kept_blocks();

}  // namespace heed
