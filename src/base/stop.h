// Ends work early when its result is no longer wanted.
#pragma once

#include <atomic>
#include <functional>

namespace heed {

/// While it lives, parallel loops of the thread that made it, and loops inside their tasks, check
/// `stop` before each task; once it is true they end with kInterrupted. So a model's pass can be
/// interrupted inside a product or an attention, not only between them.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>& stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::atomic<bool>* before_;
};

/// The same for a host that must be polled: Python notices Ctrl-C only on its own threads. Parallel
/// loops of the thread that made it call `asked_to_stop` on that thread before each task that it
/// takes itself.
class AskScope {
 public:
  explicit AskScope(const std::function<bool()>& asked_to_stop);
  explicit AskScope(std::function<bool()>&&) = delete;  // used until the scope ends
  ~AskScope();
  AskScope(const AskScope&) = delete;
  AskScope& operator=(const AskScope&) = delete;

 private:
  const std::function<bool()>* before_;
};

}  // namespace heed
