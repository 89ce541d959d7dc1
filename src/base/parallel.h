// Parallel loops with a given width, on one thread only, or in the background.
#pragma once

#include <cstdint>
#include <functional>

namespace heed {

inline constexpr int kMostThreads = 4096;  // the limit of --threads

/// Threads that a parallel loop of this thread may use: 1 inside another loop or a SerialScope.
int threads_here();

/// parallel_for on at most `threads` threads: for loops whose scratch memory is made for that many,
/// since another thread may call set_thread_count at any time.
void parallel_for(std::int64_t count, int threads,
                  const std::function<void(std::int64_t index, int thread)>& task);

/// While it lives, parallel loops of the thread that made it run on that thread alone: for a
/// server, whose requests are already parallel.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool before_;
};

/// While it lives, parallel loops of the thread that made it are background loops.
class BackgroundScope {
 public:
  BackgroundScope();
  ~BackgroundScope();
  BackgroundScope(const BackgroundScope&) = delete;
  BackgroundScope& operator=(const BackgroundScope&) = delete;

 private:
  bool before_;
};

/// While it lives, on any thread, background loops have no helpers: helpers leave at their next
/// task, and the loops continue on the thread that began them.
class UrgentScope {
 public:
  UrgentScope();
  ~UrgentScope();
  UrgentScope(const UrgentScope&) = delete;
  UrgentScope& operator=(const UrgentScope&) = delete;
};

}  // namespace heed
