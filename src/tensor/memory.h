// Where the memory of tensors comes from, how often, and what is kept of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

/// 64-byte aligned; `bytes` a multiple of 64. Null when there is no memory.
std::byte* take_block(std::size_t bytes);
/// On any thread.
void give_block(std::byte* memory, std::size_t bytes);

/// Blocks of 1 KiB and more that tensors have taken from the system so far. Freed blocks are kept
/// for the next tensor of their size, so work that repeats stops taking new ones.
std::int64_t tensor_blocks_taken();

/// Returns the freed blocks, up to 256 MB, to the allocator: after work that is not soon repeated.
void free_kept_blocks();

}  // namespace heed
