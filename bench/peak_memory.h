// How much memory some work takes.
#pragma once

#include <cstdint>
#include <functional>

namespace heed {

/// Bytes of memory at the peak of `work`, more than before it: Linux counts the most that a process
/// held, and starts again when asked. -1 where the system does not say. Blocks that
/// tensors have left for the next are freed first.
std::int64_t peak_bytes_of(const std::function<void()>& work);

}  // namespace heed
