// Locks that a child process finds free.
#pragma once

#include <mutex>

namespace heed {

/// No thread of this process is inside `mutex` when it forks, so that a child, which has only the
/// thread that forked, can take it. The mutex must never be destroyed, and a thread that is inside
/// one such mutex must not enter another.
void hold_across_fork(std::mutex& mutex);

}  // namespace heed
