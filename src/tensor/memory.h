// Allocation of tensor memory, and what of it is kept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

inline constexpr std::size_t kAlignment = 64;  // one cache line, one AVX-512 vector

/// Aligned to kAlignment; `bytes` is a multiple of it. Null if there is no memory.
std::byte* take_block(std::size_t bytes);
/// May be called on any thread.
void give_block(std::byte* memory, std::size_t bytes);

/// Blocks of 1 KiB and more that tensors have taken from the system so far. Freed blocks are kept
/// for the next tensor of their size, so repeated work stops taking new ones.
std::int64_t tensor_blocks_taken();

/// The most bytes that tensors with such blocks had at once since the first KeepBlocks that lives
/// began.
std::int64_t most_tensor_bytes();

/// Returns the freed blocks to the allocator: after work that is not soon repeated.
void free_kept_blocks();

/// By default at most 256 MB of freed blocks are kept, and none larger than 16 MB. While a
/// KeepBlocks lives, all are kept, provided that tensors and freed blocks together take at most 256
/// MB more than the peak of tensors alone. For repeated work that frees more per round, such as a
/// training step on a long text: it then takes no new blocks. At its end the freed blocks return to
/// the allocator.
class KeepBlocks {
 public:
  KeepBlocks();
  ~KeepBlocks();
  KeepBlocks(const KeepBlocks&) = delete;
  KeepBlocks& operator=(const KeepBlocks&) = delete;
};

}  // namespace heed
