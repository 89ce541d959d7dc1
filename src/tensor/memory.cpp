// Blocks of memory for tensors.
//
// Freed blocks of 1 KiB and more are kept for the next tensor of their size: a training step asks
// for the same sizes each time, and fresh pages would fault each time. Each thread keeps its own:
// what another thread has written lies in the caches of another core (one list for all was 1.3 %
// slower in training on two threads). New blocks are cut from slabs in huge pages, which cost fewer
// walks through page tables (2 % in training).
#include "tensor/memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>

#include "heed/tensor/memory.h"

namespace heed {
namespace {

constexpr std::size_t kAlignment = 64;  // one cache line, one AVX-512 vector
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSlabBytes = 8 * kHugePage;
constexpr std::size_t kMostHeldBytes = std::size_t{256} << 20;  // a thread
// Blocks of the same size a multiple of 4 KiB apart would fall on the same sets of the cache.
constexpr std::size_t kGap = 3 * kAlignment;

std::atomic<std::int64_t> blocks_taken{0};

bool is_kept(std::size_t bytes) { return bytes >= 1024 && bytes <= kMostHeldBytes / 16; }

bool is_cut(std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  return false;  // it would not see where a block ends
#else
  return bytes >= 1024 && bytes <= kSlabBytes / 8;
#endif
}

std::byte* from_system(std::size_t bytes) {
  if (bytes < kHugePage) return static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
  const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* const memory = std::aligned_alloc(kHugePage, whole);
#ifdef MADV_HUGEPAGE
  if (memory != nullptr) madvise(memory, whole, MADV_HUGEPAGE);  // a wish
#endif
  return static_cast<std::byte*>(memory);
}

// Stands at the beginning of its own memory, which is freed with the last block.
class Slab {
 public:
  static Slab* make() {
    void* const memory = std::aligned_alloc(kSlabBytes, kSlabBytes);
#ifdef MADV_HUGEPAGE
    if (memory != nullptr) madvise(memory, kSlabBytes, MADV_HUGEPAGE);
#endif
    return memory == nullptr ? nullptr : new (memory) Slab;
  }

  static Slab* of(std::byte* block) {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(block) % kSlabBytes;
    return reinterpret_cast<Slab*>(block - offset);
  }

  // Null when it is full.
  std::byte* cut(std::size_t bytes) {
    if (used_ + bytes > kSlabBytes) return nullptr;
    std::byte* const block = reinterpret_cast<std::byte*>(this) + used_;
    used_ += bytes + kGap;
    users_.fetch_add(1, std::memory_order_relaxed);
    return block;
  }

  void leave() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) std::free(this);
  }

 private:
  std::size_t used_ = kGap;
  std::atomic<std::int64_t> users_{1};  // its blocks, and the thread that cuts them
};

void to_system(std::byte* memory, std::size_t bytes) {
  is_cut(bytes) ? Slab::of(memory)->leave() : std::free(memory);
}

class ThreadBlocks {
 public:
  ThreadBlocks() = default;
  ThreadBlocks(const ThreadBlocks&) = delete;
  ThreadBlocks& operator=(const ThreadBlocks&) = delete;
  ~ThreadBlocks() {
    release();
    if (slab_ != nullptr) slab_->leave();
  }

  std::byte* take(std::size_t bytes) {
    if (is_kept(bytes)) {
      std::byte*& first = free_[bytes];
      if (first != nullptr) {
        std::byte* const memory = first;
        std::memcpy(&first, memory, sizeof(first));
        held_bytes_ -= bytes;
        return memory;
      }
      blocks_taken.fetch_add(1, std::memory_order_relaxed);
    }
    return is_cut(bytes) ? cut(bytes) : from_system(bytes);
  }

  void give(std::byte* memory, std::size_t bytes) {
    if (!is_kept(bytes)) return to_system(memory, bytes);
    if (held_bytes_ + bytes > kMostHeldBytes) release();
    std::byte*& first = free_[bytes];
    std::memcpy(memory, &first, sizeof(first));
    first = memory;
    held_bytes_ += bytes;
  }

 private:
  std::byte* cut(std::size_t bytes) {
    std::byte* const block = slab_ == nullptr ? nullptr : slab_->cut(bytes);
    if (block != nullptr) return block;
    Slab* const fresh = Slab::make();
    if (fresh == nullptr) return nullptr;
    if (slab_ != nullptr) slab_->leave();
    slab_ = fresh;
    return slab_->cut(bytes);
  }

  void release() {
    for (auto& [bytes, first] : free_) {
      while (first != nullptr) {
        std::byte* const memory = first;
        std::memcpy(&first, memory, sizeof(first));
        to_system(memory, bytes);
      }
    }
    free_.clear();
    held_bytes_ = 0;
  }

  // The first free block of each size; a free block holds the address of the next one.
  std::unordered_map<std::size_t, std::byte*> free_;
  std::size_t held_bytes_ = 0;
  Slab* slab_ = nullptr;  // where new blocks are cut
};

// Null once the thread's blocks are gone: tensors with static lifetime outlive them.
ThreadBlocks* blocks_of_thread() {
  thread_local bool ended = false;
  struct Owner {
    bool& ended;
    ThreadBlocks blocks;
    ~Owner() { ended = true; }
  };
  if (ended) return nullptr;
  thread_local Owner owner{ended, {}};
  return &owner.blocks;
}

}  // namespace

std::byte* take_block(std::size_t bytes) {
  ThreadBlocks* const blocks = blocks_of_thread();
  return blocks != nullptr ? blocks->take(bytes) : ThreadBlocks().take(bytes);
}

void give_block(std::byte* memory, std::size_t bytes) {
  ThreadBlocks* const blocks = blocks_of_thread();
  blocks != nullptr ? blocks->give(memory, bytes) : to_system(memory, bytes);
}

std::int64_t tensor_blocks_taken() { return blocks_taken.load(std::memory_order_relaxed); }

}  // namespace heed
