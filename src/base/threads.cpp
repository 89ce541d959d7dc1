#include "heed/base/threads.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>
#ifdef __SANITIZE_THREAD__
#include <thread>
#include <vector>
#endif

#include "base/serial.h"
#include "heed/base/error.h"

namespace heed {
namespace {

constexpr int kMostThreads = 4096;  // as --threads takes

std::atomic<int> chosen_count{0};
thread_local bool serial = false;

int default_count() {
  static const int count = [] {
    const char* value = std::getenv("HEED_THREADS");
    const std::string_view text = value != nullptr ? value : "";
    if (text.empty()) return omp_get_num_procs();
    int wanted = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wanted);
    require(error == std::errc() && end == text.data() + text.size() && wanted >= 1 &&
                wanted <= kMostThreads,
            "HEED_THREADS is \"{}\", expected a whole number from 1 to {}", text, kMostThreads);
    return wanted;
  }();
  return count;
}

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer cannot see libgomp's barriers, so under it the workers are plain threads.
thread_local bool is_worker = false;

bool inside_workers() { return is_worker; }

void run_workers(int threads, const std::function<void(int thread)>& work) {
  std::vector<std::jthread> workers;
  for (int thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&work, thread] {
      is_worker = true;
      work(thread);
    });
  }
}
#else
bool inside_workers() { return omp_in_parallel() != 0; }

void run_workers(int threads, const std::function<void(int thread)>& work) {
#pragma omp parallel num_threads(threads)
  work(omp_get_thread_num());
}
#endif

}  // namespace

SerialScope::SerialScope() : before_(std::exchange(serial, true)) {}
SerialScope::~SerialScope() { serial = before_; }
bool SerialScope::here() { return serial; }

int thread_count() {
  const int chosen = chosen_count.load(std::memory_order_relaxed);
  return chosen > 0 ? chosen : default_count();
}

void set_thread_count(int count) {
  chosen_count.store(count, std::memory_order_relaxed);
  omp_set_num_threads(thread_count());  // oneDNN reads OpenMP's setting
}

void parallel_for(std::int64_t count,
                  const std::function<void(std::int64_t index, int thread)>& task) {
  const int threads = static_cast<int>(std::min<std::int64_t>(thread_count(), count));
  if (threads <= 1 || SerialScope::here() || inside_workers()) {
    for (std::int64_t index = 0; index < count; ++index) task(index, 0);
    return;
  }
  std::atomic<std::int64_t> next{0};
  std::exception_ptr first;
  std::mutex first_guard;
  run_workers(threads, [&](int thread) {
    for (std::int64_t index = next++; index < count; index = next++) {
      try {
        task(index, thread);
      } catch (...) {
        const std::scoped_lock lock(first_guard);
        if (!first) first = std::current_exception();
        next = count;  // the others stop at their next index
      }
    }
  });
  if (first) std::rethrow_exception(first);
}

}  // namespace heed
