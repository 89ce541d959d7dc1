// How a thread's arithmetic rounds and treats denormals. A host may choose that for its threads,
// and a kernel for its own run; the caller's callbacks run in the caller's mode.
#pragma once

#include <utility>

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace heed {

#if defined(__SSE__)
using FloatMode = unsigned;                        // MXCSR
inline constexpr FloatMode kFlushToZero = 0x8040;  // results and operands
inline FloatMode float_mode() { return _mm_getcsr(); }
inline void set_float_mode(FloatMode mode) { _mm_setcsr(mode); }
#else
using FloatMode = unsigned;
inline constexpr FloatMode kFlushToZero = 0;
inline FloatMode float_mode() { return 0; }
inline void set_float_mode(FloatMode) {}
#endif

/// Sets this thread's float mode to `mode` while it lives.
class FloatModeScope {
 public:
  explicit FloatModeScope(FloatMode mode) : before_(float_mode()) { set_float_mode(mode); }
  ~FloatModeScope() { set_float_mode(before_); }
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

  FloatMode before() const { return before_; }

 private:
  FloatMode before_;
};

namespace detail {
inline thread_local const FloatMode* callers_mode = nullptr;  // set if a kernel uses another mode
}

/// Treats denormals as 0 in this thread's kernel while it lives: each costs a hundred cycles, and
/// the weights of far keys are full of them.
class FlushToZero {
 public:
  FlushToZero()
      : scope_(float_mode() | kFlushToZero),
        callers_(scope_.before()),
        outer_(std::exchange(detail::callers_mode, &callers_)) {}
  ~FlushToZero() { detail::callers_mode = outer_; }
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
  FloatModeScope scope_;
  FloatMode callers_;
  const FloatMode* outer_;
};

/// While it lives, a callback may run inside a kernel in the caller's float mode.
class CallersFloatMode {
 public:
  CallersFloatMode()
      : scope_(detail::callers_mode != nullptr ? *detail::callers_mode : float_mode()) {}

 private:
  FloatModeScope scope_;
};

}  // namespace heed
