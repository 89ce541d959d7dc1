// The library in a process: its version, how many threads it computes with, and the one loop that
// uses them.
//
// A process has one pool of threads, which all calls share: the calling thread always computes, and
// the pool adds `thread_count() - 1` threads for all callers together. Idle threads sleep. After
// fork the child gets its own pool (after a fork inside a task, the child may only exec or _exit).
// OpenMP is not used, and a host's OpenMP settings are not changed.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace heed {

/// "major.minor.patch" of the library that is linked.
std::string_view version();

/// Threads that parallel loops use: the number given to `set_thread_count`, else $HEED_THREADS,
/// else the CPUs that this process may run on.
int thread_count();

/// `count` >= 1; 0 restores the default. Applies to the whole process; any thread may set it at any
/// time, but loops already running do not change.
void set_thread_count(int count);

/// Calls `task(index, thread)` for every index in [0, count) once, in ascending order from one
/// atomic counter; `thread` < thread_count() identifies the worker, for per-thread scratch. The
/// first exception of a task is rethrown after all workers have stopped. Nested calls run on the
/// calling thread. Tasks run with the caller's rounding and denormal modes.
void parallel_for(std::int64_t count,
                  const std::function<void(std::int64_t index, int thread)>& task);

}  // namespace heed
