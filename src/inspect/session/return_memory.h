// Returns freed heap memory to the OS (malloc_trim).
#pragma once

namespace heed {

/// Call it after work that is not repeated soon. Passes and sweeps free large blocks, which tensors
/// and glibc would otherwise keep for later allocations.
void return_memory();

/// Call it before a server starts its threads. By default glibc gives each thread its own arena and
/// keeps the freed end of it: half a megabyte to some tens of megabytes per thread.
void share_memory();

}  // namespace heed
