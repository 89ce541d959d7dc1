#include "heed/threads.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/machine.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "heed/error.h"

namespace heed {
namespace {

std::atomic<int> chosen_count{0};
thread_local bool serial = false;
thread_local bool background = false;
thread_local const std::atomic<bool>* stop_flag = nullptr;
thread_local const std::function<bool()>* stop_question = nullptr;

// Number of CPUs that this process may use.
int cpu_count() {
#ifdef __linux__
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof(cpus), &cpus) == 0) return std::max(CPU_COUNT(&cpus), 1);
#endif
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

int count_from_environment() {
  const char* value = std::getenv("HEED_THREADS");
  const std::string_view text = value != nullptr ? value : "";
  if (text.empty()) return cpu_count();
  int wanted = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wanted);
  const bool read = error == std::errc() && end == text.data() + text.size();
  if (!read || wanted < 1 || wanted > kMostThreads)
    fail({.argument = "HEED_THREADS",
          .found = fmt::format("\"{}\"", text),
          .expected = fmt::format("a whole number from 1 to {}", kMostThreads)});
  return wanted;
}

// Not a function-local static: a child forked while another thread initialises one would wait
// forever.
int default_count() {
  static std::atomic<int> known{0};
  int count = known.load(std::memory_order_relaxed);
  if (count == 0) known = count = count_from_environment();
  return count;
}

}  // namespace

StopScope::StopScope(const std::atomic<bool>& stop) : before_(std::exchange(stop_flag, &stop)) {}
StopScope::~StopScope() { stop_flag = before_; }

AskScope::AskScope(const std::function<bool()>& asked_to_stop)
    : before_(std::exchange(stop_question, &asked_to_stop)) {}
AskScope::~AskScope() { stop_question = before_; }

int threads_here() { return serial || ThreadPool::is_inside() ? 1 : thread_count(); }

SerialScope::SerialScope() : before_(std::exchange(serial, true)) {}
SerialScope::~SerialScope() { serial = before_; }

BackgroundScope::BackgroundScope() : before_(std::exchange(background, true)) {}
BackgroundScope::~BackgroundScope() { background = before_; }

int thread_count() {
  const int chosen = chosen_count.load(std::memory_order_relaxed);
  return chosen > 0 ? chosen : default_count();
}

void set_thread_count(int count) {
  if (count < 0 || count > kMostThreads)
    fail("set_thread_count", "count", count,
         fmt::format("1 to {}, or 0 for the default", kMostThreads));
  chosen_count.store(count, std::memory_order_relaxed);
}

namespace {

void run(std::int64_t count, int threads,
         const std::function<void(std::int64_t index, int thread)>& task) {
  const int used = static_cast<int>(std::min<std::int64_t>(threads, count));
  if (used <= 1 || threads_here() == 1) {
    for (std::int64_t index = 0; index < count; ++index) task(index, 0);
    return;
  }
  Loop loop(count, used, background, task);
  ThreadPool::instance().run(loop, threads);
  loop.rethrow();
}

}  // namespace

void parallel_for(std::int64_t count,
                  const std::function<void(std::int64_t index, int thread)>& task) {
  parallel_for(count, threads_here(), task);
}

void parallel_for(std::int64_t count, int threads,
                  const std::function<void(std::int64_t index, int thread)>& task) {
  allowed_isa();  // throws for a bad HEED_ISA
  const std::atomic<bool>* const stop = stop_flag;
  const std::function<bool()>* const question = stop_question;
  if (stop == nullptr && question == nullptr) return run(count, threads, task);
  run(count, threads, [&](std::int64_t index, int thread) {
    const bool asks = question != nullptr && thread == 0;  // 0 is the calling thread
    if ((stop != nullptr && *stop) || (asks && (*question)()))
      fail({.code = ErrorCode::kInterrupted, .found = "the work was stopped"});
    std::optional<StopScope> inside;  // also on worker threads
    if (stop != nullptr) inside.emplace(*stop);
    task(index, thread);
  });
}

}  // namespace heed
