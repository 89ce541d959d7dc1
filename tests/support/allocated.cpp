// The allocator for tests that measure memory in use, with its own count. glibc's mallinfo2 also
// counts what a thread keeps after free(), so it depended on which thread ran a task.
#include "support/allocated.h"

#ifdef HEED_COUNTS_ALLOCATIONS
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace {

std::atomic<std::int64_t> bytes{0};

void* taken(void* memory) {
  bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}

void given_back(void* memory) {
  bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
}

}  // namespace

// glibc's own, under names that a program may use to replace the public ones.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(std::size_t size) { return taken(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) { return taken(__libc_calloc(count, size)); }
void* realloc(void* memory, std::size_t size) {
  const auto before = static_cast<std::int64_t>(malloc_usable_size(memory));
  void* const moved = __libc_realloc(memory, size);
  if (moved == nullptr && size != 0) return nullptr;  // the old memory stays
  bytes.fetch_sub(before, std::memory_order_relaxed);
  return taken(moved);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return taken(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  given_back(memory);
  __libc_free(memory);
}
}

namespace heed::test {
std::int64_t allocated_bytes() { return bytes; }
bool are_bytes_counted() { return true; }
}  // namespace heed::test
#else
namespace heed::test {
std::int64_t allocated_bytes() { return 0; }
bool are_bytes_counted() { return false; }
}  // namespace heed::test
#endif
