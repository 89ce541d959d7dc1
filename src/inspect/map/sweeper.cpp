#include "inspect/map/sweeper.h"

#include <chrono>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "inspect/session/cancel.h"
#include "inspect/session/session_memory.h"

namespace heed {

std::int64_t SweptHead::bytes() const {
  const auto numbers = margins.received.size() + margins.keys_in_use.size();
  return static_cast<std::int64_t>(numbers * sizeof(float)) + (coarse ? coarse->bytes() : 0);
}

SweptHead sweep_head(const LayerAttention& layer, std::int64_t head,
                     const SweepStop::Check& check) {
  const MatrixSize size = layer.size();
  const CellsRequest request = coarse_request(head, size, Pool::kMean);
  SweepStop stop(check);
  MarginsSweep margins(head);
  std::optional<CellsObserver> cells;
  std::vector<Observer*> observers = {&stop};
  margins.add_to(observers);
  if (has_coarse(size)) observers.push_back(&cells.emplace(request));
  observe(layer.args(), layer.attended(), observers);
  SweptHead swept{.margins = margins.margins(head), .coarse = {}};
  if (cells) swept.coarse.emplace(cells->gathered, request);
  return swept;
}

Sweeper::Sweeper() : thread_([this] { work(); }) {}

Sweeper::~Sweeper() {
  {
    const std::scoped_lock lock(guard_);
    stopping_ = true;
    for (const auto& job : jobs_) job->unwanted = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Sweeper::run(Work work, Cancel& cancel) {
  constexpr auto kBetween = std::chrono::milliseconds(5);  // checks whether it is still wanted
  const auto job = std::make_shared<Job>();
  job->work = std::move(work);
  std::unique_lock lock(guard_);
  jobs_.push_back(job);
  wake_.notify_one();
  while (!ended_.wait_for(lock, kBetween, [&] { return job->ended; })) {
    lock.unlock();
    if (cancel.asked()) {
      job->unwanted = true;
      fail({.code = ErrorCode::kInterrupted, .found = "the request was cancelled"});
    }
    lock.lock();
  }
  if (job->failure) std::rethrow_exception(job->failure);
}

void Sweeper::answered() {
  answers_.fetch_add(1, std::memory_order_relaxed);
  if (has_freed_.exchange(true)) return;
  const std::scoped_lock lock(guard_);  // the thread is not between its check and its sleep
  wake_.notify_one();
}

// Waits until there is a request; meanwhile returns memory freed by sweeps and answers, once no
// other follows soon.
void Sweeper::wait(std::unique_lock<std::mutex>& lock) {
  constexpr auto kQuiet = std::chrono::milliseconds(250);
  const auto is_asked = [this] { return stopping_ || !jobs_.empty(); };
  while (!is_asked()) {
    if (!has_freed_) {
      wake_.wait(lock, [&] { return is_asked() || has_freed_; });
      continue;
    }
    const std::int64_t seen = answers_.load(std::memory_order_relaxed);
    if (wake_.wait_for(lock, kQuiet, is_asked) || answers_ != seen) continue;
    has_freed_ = false;
    lock.unlock();
    return_memory();
    lock.lock();
  }
}

void Sweeper::work() {
  std::unique_lock lock(guard_);
  for (;;) {
    wait(lock);
    if (stopping_) return;
    has_freed_ = true;
    const std::shared_ptr<Job> job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    try {
      const Check check = [&] {
        if (job->unwanted)
          fail({.code = ErrorCode::kInterrupted, .found = "the sweep was cancelled"});
      };
      check();
      job->work(check);
    } catch (...) {
      job->failure = std::current_exception();
    }
    job->work = {};  // frees its data now, not when the last waiter leaves
    lock.lock();
    job->ended = true;
    ended_.notify_all();
  }
}

}  // namespace heed
