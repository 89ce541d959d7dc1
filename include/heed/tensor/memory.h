// How often tensors ask the system for memory.
#pragma once

#include <cstdint>

namespace heed {

/// Blocks of 1 KiB and more that tensors have taken anew so far. A thread keeps the blocks that it
/// frees for its next tensor of their size, so work that repeats stops taking new ones.
std::int64_t tensor_blocks_taken();

}  // namespace heed
