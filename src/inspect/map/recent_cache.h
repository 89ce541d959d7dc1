// Finished answers by name, limited in bytes; the least recently used is dropped first.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace heed {

template <typename Value>
class RecentCache {
 public:
  explicit RecentCache(std::int64_t bytes) : limit_(bytes) {}

  std::shared_ptr<const Value> find(const std::string& name) {
    const std::scoped_lock lock(guard_);
    const auto place = places_.find(name);
    if (place == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, place->second);
    return place->second->value;
  }

  /// Keeps the first value of a name, unless it exceeds the whole limit.
  void keep(const std::string& name, std::shared_ptr<const Value> value, std::int64_t bytes) {
    const std::scoped_lock lock(guard_);
    if (places_.contains(name) || bytes > limit_) return;
    bytes_ += bytes;
    entries_.push_front({name, std::move(value), bytes});
    places_[name] = entries_.begin();
    while (bytes_ > limit_) {
      bytes_ -= entries_.back().bytes;
      places_.erase(entries_.back().name);
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    std::string name;
    std::shared_ptr<const Value> value;
    std::int64_t bytes;
  };
  std::mutex guard_;
  std::int64_t limit_;
  std::int64_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string, typename std::list<Entry>::iterator> places_;
};

}  // namespace heed
