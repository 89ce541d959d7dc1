// What the allocator says is in use.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
#define HEED_HAS_MALLINFO2
#include <malloc.h>
#endif
#endif

namespace heed::test {

/// Bytes in use, of all threads; 0 where nobody says.
inline std::int64_t allocated_bytes() {
#ifdef HEED_HAS_MALLINFO2
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#else
  return 0;
#endif
}

inline bool are_bytes_counted() {
  const std::int64_t before = allocated_bytes();
  const auto memory = std::make_unique<char[]>(100'000);
  return allocated_bytes() - before >= 100'000;
}

}  // namespace heed::test
