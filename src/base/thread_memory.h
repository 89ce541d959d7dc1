// Scratch memory that a thread keeps between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace heed::kernels {

/// A thread's scratch memory outlives the call, because fresh pages cost more than a short
/// sequence.
class ThreadMemory {
 public:
  /// The same memory each time, or larger memory that replaces it.
  float* at_least(std::int64_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();
      bytes_ = 0;  // in case the next line throws
      memory_.reset(static_cast<float*>(::operator new(bytes, kAlignment)));
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  friend class LentMemory;
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<float, Free> memory_;
  std::int64_t bytes_ = 0;
  bool is_lent_ = false;
};

/// A thread's memory for one task. A task inside another one (a mask's callback that calls an
/// operator) gets separate memory, because the outer task still uses the thread's.
class LentMemory {
 public:
  LentMemory(ThreadMemory& of_thread, std::int64_t bytes) : lender_(of_thread) {
    is_lent_ = !lender_.is_lent_;
    memory_ = is_lent_ ? lender_.at_least(bytes) : own_.at_least(bytes);
    lender_.is_lent_ = true;
  }
  ~LentMemory() {
    if (is_lent_) lender_.is_lent_ = false;
  }
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  float* get() const { return memory_; }

 private:
  ThreadMemory& lender_;
  ThreadMemory own_;
  bool is_lent_ = false;
  float* memory_ = nullptr;
};

}  // namespace heed::kernels
