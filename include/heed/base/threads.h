// How many threads heed computes with, and the one loop that uses them.
#pragma once

#include <cstdint>
#include <functional>

namespace heed {

/// Threads that parallel loops use: the argument of `set_thread_count`, else $HEED_THREADS, else
/// the CPUs that this process may run on.
int thread_count();

/// `count` >= 1; 0 returns to the default. Applies to oneDNN's products too.
void set_thread_count(int count);

/// Calls `task(index, thread)` for every index in [0, count), each once, indices in rising order
/// from one atomic counter; `thread` < thread_count() names the worker, for per-thread scratch.
/// Exceptions of tasks are rethrown (the first one) after all workers have stopped. Nested calls
/// run on the calling thread.
void parallel_for(std::int64_t count,
                  const std::function<void(std::int64_t index, int thread)>& task);

}  // namespace heed
