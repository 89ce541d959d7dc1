// Work that ends early when nobody wants it any more.
#pragma once

#include <atomic>

namespace heed {

/// While one lives, the parallel loops of the thread that made it, and those inside of their tasks,
/// look at `stop` before each task; once it is true they end with kInterrupted. So a pass through a
/// model can be left inside of a product or an attention, not only between them.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>& stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::atomic<bool>* before_;
};

}  // namespace heed
