// Blocks of memory for tensors.
//
// Freed blocks of 1 KiB and more are kept for the next tensor of their size: a training step needs
// the same sizes each time, and fresh pages would fault each time. New blocks are cut from slabs in
// huge pages, which need fewer page-table walks (2 % in training). Each thread of the pool has its
// own free blocks, because blocks written by another thread are in another core's cache (2 % in
// training on two threads). The host's threads share theirs: a server has 64.
//
// Why KeepBlocks: training 12 layers of width 256 on 4,096 tokens uses 850 MB. Returning all free
// blocks whenever they exceeded 256 MB fragmented malloc's heap: 1,060 to 1,420 MB, and 85 new
// blocks per step. With KeepBlocks: 860 MB and no new blocks. (Blocks by mmap alone: 850 MB, but a
// quarter of the time went to the kernel, which clears pages.)
#include "tensor/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>  // IWYU pragma: keep
#include <unordered_map>

#include "base/fork.h"
#include "base/thread_pool.h"

namespace heed {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSlabBytes = 8 * kHugePage;
constexpr std::size_t kMostHeldBytes = std::size_t{256} << 20;
constexpr std::size_t kLargestHeldBytes = kMostHeldBytes / 16;
// Blocks of the same size at distances of a multiple of 4 KiB would map to the same cache sets.
constexpr std::size_t kGap = 3 * kAlignment;

bool is_counted(std::size_t bytes) { return bytes >= 1024; }

bool is_cut(std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  static_cast<void>(bytes);
  return false;  // it would not see the end of a block
#else
  return bytes >= 1024 && bytes <= kSlabBytes / 8;
#endif
}

std::byte* in_huge_pages(std::size_t alignment, std::size_t bytes) {
  void* const memory = std::aligned_alloc(alignment, bytes);
#ifdef MADV_HUGEPAGE
  if (memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint
#endif
  return static_cast<std::byte*>(memory);
}

std::byte* from_system(std::size_t bytes) {
  if (bytes < kHugePage) return static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
  return in_huge_pages(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
}

// Stored at the beginning of its own memory, which is freed with the last block.
class Slab {
 public:
  static Slab* make() {
    std::byte* const memory = in_huge_pages(kSlabBytes, kSlabBytes);
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
    ++users_;
    return block;
  }

  void leave() {
    if (--users_ == 0) std::free(this);
  }

 private:
  std::size_t used_ = kGap;
  std::int64_t users_ = 1;  // its blocks, and the thread that cuts them
};

class Blocks {
 public:
  // Never destroyed, because tensors with static lifetime outlive other statics.
  static Blocks& instance() {
    static auto* const blocks = [] {
      auto* const made = new Blocks;
      hold_across_fork(made->guard_);
      return made;
    }();
    return *blocks;
  }

  std::byte* take(std::size_t bytes) {
    if (!is_counted(bytes)) return from_system(bytes);
    const std::scoped_lock lock(guard_);
    used_bytes_ += bytes;
    most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
    if (std::byte* const memory = take_freed(bytes)) return memory;
    if (held_bytes_ > most_held()) release();
    ++taken_;
    std::byte* const memory = is_cut(bytes) ? cut(bytes) : from_system(bytes);
    if (memory == nullptr) used_bytes_ -= bytes;
    return memory;
  }

  void give(std::byte* memory, std::size_t bytes) {
    if (!is_counted(bytes)) return std::free(memory);
    const std::scoped_lock lock(guard_);
    used_bytes_ -= bytes;
    if (keepers_ == 0 && bytes > kLargestHeldBytes) return std::free(memory);
    if (held_bytes_ + bytes > most_held()) release();
    std::byte*& first = free_[key_of(bytes)];
    std::memcpy(memory, &first, sizeof(first));
    first = memory;
    held_bytes_ += bytes;
  }

  void keep() {
    const std::scoped_lock lock(guard_);
    if (keepers_++ == 0) most_used_bytes_ = used_bytes_;
  }

  void keep_no_longer() {
    const std::scoped_lock lock(guard_);
    if (--keepers_ == 0) release();
  }

  std::int64_t taken() {
    const std::scoped_lock lock(guard_);
    return taken_;
  }

  std::int64_t most_used() {
    const std::scoped_lock lock(guard_);
    return static_cast<std::int64_t>(most_used_bytes_);
  }

  void free_kept() {
    const std::scoped_lock lock(guard_);
    release();
  }

 private:
  // Sizes are multiples of 64, so the remainder can hold the thread's index.
  static std::size_t key_of(std::size_t bytes) {
    return bytes + static_cast<std::size_t>(std::min(ThreadPool::place(), 63));
  }

  // See KeepBlocks.
  std::size_t most_held() const {
    return keepers_ == 0 ? kMostHeldBytes : kMostHeldBytes + most_used_bytes_ - used_bytes_;
  }

  // Null if there is none of this size.
  std::byte* take_freed(std::size_t bytes) {
    const auto found = free_.find(key_of(bytes));
    if (found == free_.end() || found->second == nullptr) return nullptr;
    std::byte* const memory = found->second;
    std::memcpy(&found->second, memory, sizeof(memory));
    held_bytes_ -= bytes;
    return memory;
  }

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
    for (auto& [key, first] : free_) {
      const std::size_t bytes = key / kAlignment * kAlignment;
      while (first != nullptr) {
        std::byte* const memory = first;
        std::memcpy(&first, memory, sizeof(first));
        is_cut(bytes) ? Slab::of(memory)->leave() : std::free(memory);
      }
    }
    free_.clear();
    held_bytes_ = 0;
    if (slab_ != nullptr) slab_->leave();
    slab_ = nullptr;
  }

  std::mutex guard_;
  // The first free block for each size and thread; a free block holds the address of the next one.
  std::unordered_map<std::size_t, std::byte*> free_;
  std::size_t held_bytes_ = 0;  // freed and kept
  std::size_t used_bytes_ = 0;  // used by tensors
  std::size_t most_used_bytes_ = 0;
  std::int64_t taken_ = 0;
  int keepers_ = 0;
  Slab* slab_ = nullptr;  // where new blocks are cut
};

}  // namespace

std::byte* take_block(std::size_t bytes) { return Blocks::instance().take(bytes); }

void give_block(std::byte* memory, std::size_t bytes) { Blocks::instance().give(memory, bytes); }

std::int64_t most_tensor_bytes() { return Blocks::instance().most_used(); }

void free_kept_blocks() { Blocks::instance().free_kept(); }

KeepBlocks::KeepBlocks() { Blocks::instance().keep(); }

KeepBlocks::~KeepBlocks() { Blocks::instance().keep_no_longer(); }

std::int64_t tensor_blocks_taken() { return Blocks::instance().taken(); }

}  // namespace heed
