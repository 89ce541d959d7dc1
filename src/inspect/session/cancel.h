// When a long answer should stop: its client went away, a newer request took its place, or the
// server ends.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "heed/observe.h"

namespace heed {

using Flag = std::shared_ptr<std::atomic<bool>>;

/// Asked between blocks of work.
class Cancel {
 public:
  /// `gone` asks the system whether the client still listens, so it is called every few
  /// milliseconds only.
  Cancel(Flag superseded, std::function<bool()> gone)
      : superseded_(std::move(superseded)), gone_(std::move(gone)) {}

  /// A check that never stops.
  Cancel() = default;

  bool asked();
  /// Throws kInterrupted when it is time to stop.
  void check();

 private:
  Flag superseded_;
  std::function<bool()> gone_ = {};
  std::chrono::steady_clock::time_point next_ = {};
};

/// Waits for the lock; throws kInterrupted when it is time to stop.
std::unique_lock<std::timed_mutex> lock_unless(Cancel& cancel, std::timed_mutex& guard);

/// The newest request of each `view`; entering a name stops the one that held it.
class Views {
 public:
  Flag enter(const std::string& name);
  void leave(const std::string& name, const Flag& flag);

 private:
  std::mutex guard_;
  std::map<std::string, Flag> newest_;
};

/// An observer that can end a sweep. It reads no weights; it calls `check` on each thread of the
/// sweep and passes its exception on.
class SweepStop final : public Observer {
 public:
  /// Called before each block of rows that other observers need.
  using Check = std::function<void(const ObservedRows& rows)>;
  /// `between` is also called inside a block: with 100,000 keys a block takes about 10 ms.
  explicit SweepStop(Check check, std::function<void()> between = {})
      : check_(std::move(check)), between_(std::move(between)) {}
  std::string_view name() const override { return "stop"; }
  void begin(const ObservedShape&) override {}
  RowSpan rows_needed(std::int64_t, std::int64_t) const override { return {}; }
  bool needs(const ObservedRows& rows) const override {
    check_(rows);
    return between_ != nullptr;
  }
  bool needs(const ObservedRows&, std::int64_t begin, std::int64_t) const override {
    constexpr std::int64_t kKeysBetween = 1024;
    if (begin % kKeysBetween == 0) between_();
    return false;
  }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<State>();
  }
  void tile(State&, const ObservedRows&, const ObservedTile&) const override {}
  void merge(State&, const ObservedRows&) override {}

 private:
  Check check_;
  std::function<void()> between_;
};

}  // namespace heed
