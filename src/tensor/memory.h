// Where the memory of tensors comes from.
#pragma once

#include <cstddef>

namespace heed {

/// 64-byte aligned; `bytes` a multiple of 64. Null when there is no memory.
std::byte* take_block(std::size_t bytes);
/// On any thread.
void give_block(std::byte* memory, std::size_t bytes);

}  // namespace heed
