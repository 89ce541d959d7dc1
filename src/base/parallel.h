// Parallel loops: of a given width, on one thread alone, and those that give way to others.
#pragma once

#include <cstdint>
#include <functional>

namespace heed {

inline constexpr int kMostThreads = 4096;  // as --threads takes

/// Threads that a parallel loop of this thread may use: 1 inside another one, and under a
/// SerialScope.
int threads_here();

/// parallel_for on at most `threads` threads: for loops whose scratch memory is made for as many,
/// since another thread may call set_thread_count at any time.
void parallel_for(std::int64_t count, int threads,
                  const std::function<void(std::int64_t index, int thread)>& task);

/// While one lives, the parallel loops of the thread that made it run on that thread alone: for a
/// server, whose requests are parallel already.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool before_;
};

/// While one lives, the parallel loops of the thread that made it are of the background.
class BackgroundScope {
 public:
  BackgroundScope();
  ~BackgroundScope();
  BackgroundScope(const BackgroundScope&) = delete;
  BackgroundScope& operator=(const BackgroundScope&) = delete;

 private:
  bool before_;
};

/// While one lives, on any thread, loops of the background have no helpers: those that are inside
/// leave at their next task, and the loops go on with the thread that began them.
class UrgentScope {
 public:
  UrgentScope();
  ~UrgentScope();
  UrgentScope(const UrgentScope&) = delete;
  UrgentScope& operator=(const UrgentScope&) = delete;
};

}  // namespace heed
