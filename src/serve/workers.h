// The threads that answer requests.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace heed::server {

/// httplib's own pool ends the program where the system gives it fewer threads than it wants.
class Workers : public httplib::TaskQueue {
 public:
  /// Throws kIo unless all of them start.
  explicit Workers(int count);
  ~Workers() override;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Nothing, or from httplib 0.14 on whether the task was taken in.
  using Taken = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Taken enqueue(std::function<void()> task) override;
  /// Returns when all that was taken in is done.
  void shutdown() override;

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> tasks_;
  bool is_closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace heed::server
