// How many threads heed computes with, and the one loop that uses them.
//
// A process has one pool of threads, which all calls share: the calling thread always computes, and
// the pool adds `thread_count() - 1` threads for all callers together. Idle threads sleep. A child
// of fork gets a pool of its own (fork inside a task: the child may only exec or _exit). OpenMP is
// not used, and a host's OpenMP settings stay as they are.
#pragma once

#include <cstdint>
#include <functional>

namespace heed {

/// Threads that parallel loops use: the argument of `set_thread_count`, else $HEED_THREADS, else
/// the CPUs that this process may run on.
int thread_count();

/// `count` >= 1; 0 returns to the default. Holds for the whole process; any thread may set it
/// at any time, and loops that have begun go on as they are.
void set_thread_count(int count);

/// Calls `task(index, thread)` for every index in [0, count), each once, indices in rising order
/// from one atomic counter; `thread` < thread_count() names the worker, for per-thread scratch.
/// Exceptions of tasks are rethrown (the first one) after all workers have stopped. Nested calls
/// run on the calling thread. Tasks run with the caller's rounding and treatment of denormals.
void parallel_for(std::int64_t count,
                  const std::function<void(std::int64_t index, int thread)>& task);

}  // namespace heed
