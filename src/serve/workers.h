// The threads that answer requests.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace heed::serve {

class Workers {
 public:
  /// Throws kIo unless all of them start.
  explicit Workers(int count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void enqueue(std::function<void()> task);
  /// Returns when all accepted work is done.
  void shutdown();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> tasks_;
  bool is_closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace heed::serve
