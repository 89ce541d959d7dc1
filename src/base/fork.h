// Locks that are free in a child process after fork.
#pragma once

#include <mutex>

namespace heed {

/// Makes fork wait until no thread of this process holds `mutex`, so that the child, which has only
/// the forking thread, can lock it. The mutex must never be destroyed, and a thread that holds one
/// such mutex must not lock another.
void hold_across_fork(std::mutex& mutex);

}  // namespace heed
