// Scratch memory that a thread keeps between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace heed::kernels {

/// A thread's scratch memory outlives the call: fresh pages cost more than a short sequence.
class ThreadMemory {
 public:
  float* at_least(std::int64_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();
      bytes_ = 0;  // should the next line throw
      memory_.reset(static_cast<float*>(::operator new(bytes, kAlignment)));
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<float, Free> memory_;
  std::int64_t bytes_ = 0;
};

}  // namespace heed::kernels
