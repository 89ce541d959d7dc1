// Bytes that the allocator has given out and not got back.
#pragma once

#include <cstdint>

// A sanitizer replaces the allocator by its own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEED_COUNTS_ALLOCATIONS
#endif

namespace heed::test {

/// Bytes in use, of all threads; 0 where nobody says.
std::int64_t allocated_bytes();
bool are_bytes_counted();

}  // namespace heed::test
