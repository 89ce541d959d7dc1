// Runs long sweeps one after the other.
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
  std::optional<CoarseHead> coarse;  // if the text is long enough for coarse levels

  std::int64_t bytes() const;
};

/// Runs on all cores; `check` is called on several threads, and throws to stop.
SweptHead sweep_head(const LayerAttention& layer, std::int64_t head, const SweepStop::Check& check);

/// Memory freed by sweeps and other answers returns to the system if no other follows soon. Running
/// requests side by side would divide the cores, and the first request would finish last.
class Sweeper {
 public:
  /// Called between blocks on several threads; throws when no request waits any more.
  using Check = std::function<void()>;
  using Work = std::function<void(const Check& check)>;

  Sweeper();
  ~Sweeper();

  /// Runs the work after the earlier ones, and rethrows its exception. Cancelled work may continue
  /// briefly after this has thrown kInterrupted, so it must own its data.
  void run(Work work, Cancel& cancel);
  /// Call it after answering a request, whose memory is then free.
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
  std::condition_variable wake_;   // there is work
  std::condition_variable ended_;  // work has ended
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stopping_ = false;
  std::atomic<std::int64_t> answers_ = 0;
  std::atomic<bool> has_freed_ = false;  // there is memory to return
  std::thread thread_;
};

}  // namespace heed
