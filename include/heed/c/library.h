// The library itself: which one it is, and how many threads it computes with.
#ifndef HEED_C_LIBRARY_H
#define HEED_C_LIBRARY_H

#include "heed/c/error.h"

// NOLINTBEGIN(readability-identifier-naming): names as C writes them
#ifdef __cplusplus
extern "C" {
#endif

/// "major.minor.patch" of the library that runs.
HEED_API const char* heed_version(void);

/// Threads that one call uses: what was set, else $HEED_THREADS, else the CPUs that this process
/// may run on. All callers share one pool; the calling thread always computes. Idle threads sleep,
/// and a child of fork gets a pool of its own. Results do not depend on the number.
HEED_API heed_status heed_thread_count(int32_t* count);

/// For the whole process, from the next call on: 1 to 4096; 0 returns to the default.
HEED_API heed_status heed_set_thread_count(int32_t count);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
