// Bytes allocated and not yet freed.
#pragma once

#include <cstdint>

// A sanitizer replaces the allocator by its own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEED_COUNTS_ALLOCATIONS
#endif

namespace heed::test {

/// Bytes in use by all threads; 0 if unknown.
std::int64_t allocated_bytes();
bool are_bytes_counted();

}  // namespace heed::test
