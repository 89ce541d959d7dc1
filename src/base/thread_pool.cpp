#include "base/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/parallel.h"

namespace heed {
namespace {

constexpr auto kSpin = std::chrono::microseconds(50);

struct Here {
  int place = 0;
  const std::atomic<bool>* failed = nullptr;  // of the loop that this thread is in
};
thread_local Here here;

std::atomic<int> urgent{0};  // number of living UrgentScopes

void pause() {
#if defined(__SSE__)
  _mm_pause();
#endif
}

/// Polls `done()` for kSpin.
bool spin_until(const auto& done) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

/// The process's signals are for the host's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;  // NOLINT(misc-include-cleaner): signal.h has it
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

UrgentScope::UrgentScope() { ++urgent; }
UrgentScope::~UrgentScope() {
  if (--urgent == 0) ThreadPool::instance().call_helpers();
}

bool Loop::gives_way() const {
  return is_background_ && urgent.load(std::memory_order_relaxed) > 0;
}

void Loop::run(int thread) {
  const std::atomic<bool>* const outer = std::exchange(here.failed, &failed_);
  while (thread == 0 || !gives_way()) {
    const std::int64_t index = next_++;
    if (index >= count_) break;
    try {
      task_(index, thread);
    } catch (...) {
      const std::scoped_lock lock(error_guard_);
      if (!error_) error_ = std::current_exception();
      next_ = count_;  // other threads stop at their next index,
      failed_ = true;  // or while they wait for this one
    }
  }
  here.failed = outer;
}

int ThreadPool::place() { return here.place; }
bool ThreadPool::is_inside() { return here.failed != nullptr; }
bool ThreadPool::has_failed() {
  return here.failed != nullptr && here.failed->load(std::memory_order_relaxed);
}

namespace {

std::atomic<ThreadPool*> pool{nullptr};  // never destroyed: its threads outlive everything else

// Runs before main and uses no function-local static: a child forked while another thread
// initialises one would wait forever.
[[maybe_unused]] const int kForkIsHandled =
    pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr, std::memory_order_relaxed); });

}  // namespace

ThreadPool& ThreadPool::instance() {
  ThreadPool* made = pool.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  auto mine = std::make_unique<ThreadPool>();
  if (!pool.compare_exchange_strong(made, mine.get(), std::memory_order_acq_rel)) return *made;
  return *mine.release();
}

void ThreadPool::run(Loop& loop, int threads) {
  bool wakes = false;
  {
    const std::scoped_lock lock(guard_);
    most_busy_ = threads - 1;
    grow(loop.threads_ - 1);
    open_.push_back(&loop);
    begun_.fetch_add(1, std::memory_order_release);
    wakes = sleeping_ > 0;
  }
  if (wakes) wake_.notify_one();
  loop.run(0);
  {
    const std::scoped_lock lock(guard_);
    std::erase(open_, &loop);
  }
  wait_for_helpers(loop);
}

// If the system provides no more threads, the caller computes alone.
void ThreadPool::grow(int workers) {
  if (workers_ >= workers) return;
  const SignalsBlocked blocked;
  try {
    for (; workers_ < workers; ++workers_)
      std::thread([this, place = workers_ + 1] { work(place); }).detach();
  } catch (const std::system_error&) {
  }
}

void ThreadPool::work(int place) {
  here.place = place;
  Lock lock(guard_);
  for (;;) {
    const Seat seat = wait_for_seat(lock);
    lock.unlock();
    {
      const FloatModeScope mode(seat.loop->float_mode_);
      seat.loop->run(seat.thread);
    }
    lock.lock();
    leave(seat);
  }
}

ThreadPool::Seat ThreadPool::wait_for_seat(Lock& lock) {
  for (;;) {
    if (const Seat seat = find_seat(); seat.loop != nullptr) return seat;
    const std::uint32_t seen = begun_.load(std::memory_order_relaxed);
    const auto has_news = [&] { return begun_.load(std::memory_order_acquire) != seen; };
    lock.unlock();
    spin_until(has_news);
    lock.lock();
    if (has_news()) continue;
    ++sleeping_;
    wake_.wait(lock);
    --sleeping_;
  }
}

// Chooses the loop with the fewest helpers.
ThreadPool::Seat ThreadPool::find_seat() {
  if (busy_ >= most_busy_) return {};
  Loop* found = nullptr;
  for (Loop* const loop : open_)
    if (loop->wants_helpers() && (found == nullptr || loop->joined_ < found->joined_)) found = loop;
  if (found == nullptr) return {};
  ++busy_;
  ++found->joined_;
  int thread = found->joined_;
  if (!found->left_.empty()) {
    thread = found->left_.back();
    found->left_.pop_back();
  }
  found->inside_.fetch_add(1, std::memory_order_relaxed);
  if (sleeping_ > 0 && found->wants_helpers()) {
    wake_.notify_one();
    wake_.notify_one();
  }
  return {found, thread};
}

void ThreadPool::call_helpers() {
  {
    const std::scoped_lock lock(guard_);
    if (open_.empty()) return;
    begun_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_one();
}

// A helper that returns gets a number that no other thread of its loop has, because the loop's
// scratch memory is indexed by it.
void ThreadPool::leave(const Seat& seat) {
  Loop& loop = *seat.loop;
  --busy_;
  if (loop.is_background_) {
    --loop.joined_;
    loop.left_.push_back(seat.thread);
  }
  const bool caller_sleeps = loop.caller_sleeps_;
  const bool was_last = loop.inside_.fetch_sub(1, std::memory_order_release) == 1;
  if (was_last && caller_sleeps) done_.notify_all();  // the loop may already be destroyed
}

void ThreadPool::wait_for_helpers(Loop& loop) {
  const auto is_over = [&] { return loop.inside_.load(std::memory_order_acquire) == 0; };
  if (spin_until(is_over)) return;
  Lock lock(guard_);
  loop.caller_sleeps_ = true;
  done_.wait(lock, is_over);
}

}  // namespace heed
