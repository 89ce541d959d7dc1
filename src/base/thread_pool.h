// The threads that all parallel loops of a process share.
//
// Each loop is run by the thread that called it and by the pool's free threads: the caller never
// waits for a thread that has not begun. A loop that ends before a helper is awake has cost one
// wake-up. Each thread that joins wakes two more, so the caller of a wide loop wakes only one.
// Threads look for the next loop for 50 us and then sleep; so does a caller whose remaining tasks
// have all begun. Background loops have helpers only while nothing urgent runs (base/parallel.h).
//
// Measured against libgomp (12.2) and oneTBB (2021.8) with two threads on two CPUs (AMD EPYC) kept
// busy by ten compiler processes: microseconds per loop, median / mean, and CPU time.
//                                           pool             oneTBB        libgomp, 3,000 spins
//   2 tasks of 10 us, one loop after another  13 / 98, 24      20 / 74, 21     226 / 731, 206
//   2 tasks of 10 us, 20 us between           21 / 98, 50      20 / 77, 42     199 / 819, 225
//   2 tasks of 10 us, 500 us of sleep between 24 / 27, 109     25 / 27, 169    180 / 160, 220
//   16 tasks of 100 us, 200 us between        3,756 / 5,675    1,652 / 5,581   7,720 / 6,994
//   8 tasks of 1 ms, 5 ms of sleep between    28,000           29,000          29,000
// libgomp with its default, unbounded spinning: 43 ms for the third line. Spinning for 20 us: 35 us
// for the third line; for 100 us: the same as 50, and 160 us of CPU time. These are the second of
// two rounds on a busy machine; in the first the pool's first line was 21 us, level with oneTBB's.
// oneTBB is as quick, but numbers its threads over all loops together and would be another
// dependency. It was not tested in a child of fork.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "base/float_mode.h"

namespace heed {

/// Thrown by a task that waits for a failed task; the caller gets the error of the failed task.
struct LoopStopped {};

/// One parallel loop; lives on the stack of its caller.
class Loop {
 public:
  using Task = std::function<void(std::int64_t index, int thread)>;

  /// At most `threads` >= 2 threads run it, including the caller.
  Loop(std::int64_t count, int threads, bool is_background, const Task& task)
      : count_(count), threads_(threads), is_background_(is_background), task_(task) {}

  /// Takes indices until none are left, or until a helper must leave.
  void run(int thread);
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  friend class ThreadPool;
  bool gives_way() const;
  bool wants_helpers() const {
    return joined_ + 1 < threads_ && next_.load(std::memory_order_relaxed) < count_ && !gives_way();
  }

  const std::int64_t count_;
  const int threads_;
  const bool is_background_;
  const Task& task_;
  const FloatMode float_mode_ = float_mode();
  std::exception_ptr error_;  // the first error
  std::mutex error_guard_;
  int joined_ = 0;              // pool threads that joined; guarded by the pool
  std::vector<int> left_;       // numbers of those that left again; guarded by the pool
  bool caller_sleeps_ = false;  // guarded by the pool
  std::atomic<int> inside_{0};  // pool threads inside the loop
  alignas(64) std::atomic<std::int64_t> next_{0};
  std::atomic<bool> failed_{false};
};

class ThreadPool {
 public:
  /// A child process gets a new one: fork copies no threads.
  static ThreadPool& instance();

  /// Runs the loop to its end, with at most `threads` - 1 threads of the pool. The limit applies to
  /// all callers together.
  void run(Loop& loop, int threads);

  /// This thread's index: 0 for every thread of the host, from 1 on for threads of the pool.
  static int place();
  /// Whether this thread is inside a loop.
  static bool is_inside();
  /// Whether a task of this thread's loop has thrown.
  static bool has_failed();
  /// Lets helpers join background loops again.
  void call_helpers();

 private:
  struct Seat {
    Loop* loop = nullptr;
    int thread = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  void grow(int workers);
  void work(int place);
  Seat wait_for_seat(Lock& lock);
  Seat find_seat();
  void leave(const Seat& seat);
  void wait_for_helpers(Loop& loop);

  std::mutex guard_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<Loop*> open_;
  int workers_ = 0;
  int sleeping_ = 0;
  int busy_ = 0;
  int most_busy_ = 0;
  alignas(64) std::atomic<std::uint32_t> begun_{0};  // loops: polled by idle threads
};

}  // namespace heed
