// Where the memory of tensors comes from, how often, and what is kept of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

inline constexpr std::size_t kAlignment = 64;  // one cache line, one AVX-512 vector

/// Aligned to kAlignment; `bytes` a multiple of it. Null when there is no memory.
std::byte* take_block(std::size_t bytes);
/// On any thread.
void give_block(std::byte* memory, std::size_t bytes);

/// Blocks of 1 KiB and more that tensors have taken from the system so far. Freed blocks are kept
/// for the next tensor of their size, so work that repeats stops taking new ones.
std::int64_t tensor_blocks_taken();

/// The most bytes that tensors with such blocks had at once since the first KeepBlocks that lives
/// began.
std::int64_t most_tensor_bytes();

/// Returns the freed blocks to the allocator: after work that is not soon repeated.
void free_kept_blocks();

/// Of freed blocks 256 MB at most are kept, and none of more than 16 MB. While one of these lives
/// all are, as long as tensors and freed blocks together take at most 256 MB more than tensors
/// alone did at some time. For work that repeats and frees more in each round, as a step of
/// training on a long text: it takes no new blocks. What is freed goes back to the allocator at the
/// end.
class KeepBlocks {
 public:
  KeepBlocks();
  ~KeepBlocks();
  KeepBlocks(const KeepBlocks&) = delete;
  KeepBlocks& operator=(const KeepBlocks&) = delete;
};

}  // namespace heed
