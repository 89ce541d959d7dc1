// How the SIMD kernels treat denormals.
#pragma once

#include <immintrin.h>

namespace heed::kernels {

/// Denormals count as 0 while this lives: they cost a hundred cycles each, and the weights of far
/// keys are full of them.
class FlushToZero {
 public:
  FlushToZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlush); }
  ~FlushToZero() { _mm_setcsr(before_); }
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
  static constexpr unsigned kFlush = 0x8040;  // results and operands
  unsigned before_;
};

}  // namespace heed::kernels
