// Work that ends early when nobody wants it any more.
#pragma once

#include <atomic>
#include <functional>

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

/// The same for a host that must be asked: Python learns of Ctrl-C on its own threads alone. The
/// parallel loops of the thread that made it call `asked_to_stop` on that thread, before each task
/// that it takes itself.
class AskScope {
 public:
  explicit AskScope(const std::function<bool()>& asked_to_stop);
  explicit AskScope(std::function<bool()>&&) = delete;  // it is looked at until the scope ends
  ~AskScope();
  AskScope(const AskScope&) = delete;
  AskScope& operator=(const AskScope&) = delete;

 private:
  const std::function<bool()>* before_;
};

}  // namespace heed
