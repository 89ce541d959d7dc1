// Parallel loops of a given width.
#pragma once

#include <cstdint>
#include <functional>

namespace heed {

inline constexpr int kMostThreads = 4096;  // as --threads takes

/// Threads that a parallel loop of this thread may use: 1 inside another one, and under a
/// SerialScope.
int threads_here();

/// parallel_for on at most `threads` threads: for loops whose scratch memory is made for as many,
/// since another thread may call set_thread_count at any time.
void parallel_for(std::int64_t count, int threads,
                  const std::function<void(std::int64_t index, int thread)>& task);

}  // namespace heed
