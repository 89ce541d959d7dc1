// Orders the threads that add to the same memory, so that sums do not depend on timing.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/thread_pool.h"

namespace heed::kernels {

/// Waits until all turns before `mine` are over. A null counter: one thread runs them in order. If
/// a task of the loop has thrown, a turn may never come, so the waiting task ends too.
class Turn {
 public:
  Turn(std::atomic<std::int64_t>* next, std::int64_t mine) : next_(next), mine_(mine) {
    if (next_ == nullptr) return;
    while (next_->load(std::memory_order_acquire) != mine) {
      if (ThreadPool::has_failed()) throw LoopStopped();
      std::this_thread::yield();
    }
  }
  ~Turn() {
    if (next_ != nullptr) next_->store(mine_ + 1, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<std::int64_t>* next_;
  std::int64_t mine_;
};

}  // namespace heed::kernels
