#include "serve/workers.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"

namespace heed::serve {

Workers::Workers(int count) {
  try {
    while (std::ssize(threads_) < count) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    shutdown();
    fail({.code = ErrorCode::kIo,
          .op = "serve",
          .found = fmt::format("cannot start {}: {}", number_of(count, "thread"),
                               error.code().message())});
  }
}

Workers::~Workers() { shutdown(); }

void Workers::enqueue(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  news_.notify_one();
}

void Workers::shutdown() {
  {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
  }
  news_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Workers::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return is_closed_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

}  // namespace heed::serve
