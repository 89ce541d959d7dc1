#include "inspect/session/cancel.h"

#include "heed/error.h"

namespace heed {

bool Cancel::asked() {
  if (superseded_ && superseded_->load(std::memory_order_relaxed)) return true;
  constexpr auto kBetween = std::chrono::milliseconds(2);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + kBetween;
  return gone_ && gone_();
}

void Cancel::check() {
  if (asked()) fail({.code = ErrorCode::kInterrupted, .found = "the request was cancelled"});
}

std::unique_lock<std::timed_mutex> lock_unless(Cancel& cancel, std::timed_mutex& guard) {
  constexpr auto kPatience = std::chrono::milliseconds(20);
  std::unique_lock lock(guard, std::defer_lock);
  while (!lock.try_lock_for(kPatience)) cancel.check();
  return lock;
}

Flag Views::enter(const std::string& name) {
  if (name.empty()) return nullptr;
  const auto flag = std::make_shared<std::atomic<bool>>(false);
  const std::scoped_lock lock(guard_);
  Flag& newest = newest_[name];
  if (newest) newest->store(true, std::memory_order_relaxed);
  newest = flag;
  return flag;
}

void Views::leave(const std::string& name, const Flag& flag) {
  const std::scoped_lock lock(guard_);
  const auto found = newest_.find(name);
  if (found != newest_.end() && found->second == flag) newest_.erase(found);
}

}  // namespace heed
