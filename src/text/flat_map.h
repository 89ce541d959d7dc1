// A hash table from 64-bit keys to small values that only grows: linear probing, at most half full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heed {

template <typename Value>
class FlatMap {
 public:
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

  const Value* find(std::uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place_of(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

  /// `key` must not be kNoKey. Returns the value, which stays valid until the next call; a new one
  /// is Value{}.
  Value& operator[](std::uint64_t key) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(key)];
    if (slot.key != key) {
      slot.key = key;
      ++count_;
    }
    return slot.value;
  }

 private:
  struct Slot {
    std::uint64_t key = kNoKey;
    Value value = {};
  };

  // The slot of the key, or where it would be inserted.
  std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = (key * 0x9E3779B97F4A7C15U) >> shift_;
    while (slots_[place].key != key && slots_[place].key != kNoKey) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 16 : 2 * old.size(), Slot());
    shift_ = 64;
    for (std::size_t size = slots_.size(); size > 1; size /= 2) --shift_;
    for (Slot& slot : old)
      if (slot.key != kNoKey) slots_[place_of(slot.key)] = std::move(slot);
  }

  std::vector<Slot> slots_;  // a power of two
  std::size_t count_ = 0;
  int shift_ = 64;
};

}  // namespace heed
