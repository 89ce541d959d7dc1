// Sweeps that take long: one after the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "inspect/map/coarse.h"
#include "inspect/map/margins.h"
#include "inspect/session/cancel.h"

namespace heed {

struct SweptHead {
  Margins margins;
  std::optional<CoarseHead> coarse;  // where the text is long enough to have coarse levels

  std::int64_t bytes() const;
};

/// On all cores; `check` is called on several threads, and throws to stop.
SweptHead sweep_head(const LayerAttention& layer, std::int64_t head, const SweepStop::Check& check);

/// What sweeps and other answers have freed goes back to the system when none follows soon.
/// Requests that ran them side by side would share the cores, and the one that was asked first
/// would be answered last.
class Sweeper {
 public:
  /// Called between blocks on several threads; throws when nobody waits any more.
  using Check = std::function<void()>;
  using Work = std::function<void(const Check& check)>;

  Sweeper();
  ~Sweeper();

  /// Runs the work when those before it have ended, and throws what it threw. Work that is
  /// cancelled may still run for a moment after this has thrown kInterrupted, so it owns what it
  /// touches.
  void run(Work work, Cancel& cancel);
  /// A request was answered, and has freed what that took.
  void answered();

 private:
  struct Job {
    Work work;
    std::atomic<bool> unwanted = false;
    bool ended = false;
    std::exception_ptr failure;
  };
  void work();
  void wait(std::unique_lock<std::mutex>& lock);

  std::mutex guard_;
  std::condition_variable wake_;   // something to do
  std::condition_variable ended_;  // something done
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stopping_ = false;
  std::atomic<std::int64_t> answers_ = 0;
  std::atomic<bool> has_freed_ = false;  // something may go back
  std::thread thread_;
};

}  // namespace heed
