// The tokens of earlier words of the same text: most words repeat.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "text/model/merges.h"

namespace heed {

class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 64;     // bytes; longer words hardly ever repeat
  static constexpr std::size_t kMostWords = 1 << 18;  // then it accepts no more: 30 MB

  WordCache() : slots_(kFirstSlots) {}

  /// The symbols of a cached word; empty if it is not cached.
  std::span<const Symbol> find(std::string_view word) const {
    const Slot& slot = slots_[place_of(word, hash(word))];
    return {symbols_.data() + slot.first, slot.count};
  }
  /// `word` must not be cached yet, has at most kLongestWord bytes, and must outlive the cache.
  void keep(std::string_view word, std::span<const Symbol> symbols);

 private:
  static constexpr std::size_t kFirstSlots = 256;
  struct Slot {
    const char* word = nullptr;
    std::uint32_t bytes = 0;
    std::uint32_t hash = 0;
    std::uint32_t first = 0;  // of its symbols
    std::uint32_t count = 0;
  };

  // Eight bytes at a time (after wyhash: multiply, fold).
  static std::uint32_t hash(std::string_view word) {
    std::uint64_t state = word.size() * 0x9E3779B97F4A7C15U;
    const auto mix = [&state](std::uint64_t bytes) {
      const auto product = static_cast<unsigned __int128>(state ^ bytes) * 0xA0761D6478BD642FU;
      state = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    std::size_t i = 0;
    for (; i + 8 <= word.size(); i += 8) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, word.data() + i, 8);
      mix(bytes);
    }
    std::uint64_t rest = 0;
    for (std::size_t shift = 0; i < word.size(); ++i, shift += 8)
      rest |= std::uint64_t{static_cast<unsigned char>(word[i])} << shift;
    mix(rest);
    return static_cast<std::uint32_t>(state >> 32);
  }
  std::size_t place_of(std::string_view word, std::uint32_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = hash & mask;
    while (slots_[place].word != nullptr && !is(slots_[place], word, hash))
      place = (place + 1) & mask;
    return place;
  }
  static bool is(const Slot& slot, std::string_view word, std::uint32_t hash) {
    return slot.hash == hash && std::string_view(slot.word, slot.bytes) == word;
  }
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<Symbol> symbols_;
  std::size_t words_ = 0;
};

inline void WordCache::keep(std::string_view word, std::span<const Symbol> symbols) {
  if (words_ == kMostWords || symbols.empty()) return;
  if (2 * ++words_ > slots_.size()) grow();
  const std::uint32_t hashed = hash(word);
  slots_[place_of(word, hashed)] = {.word = word.data(),
                                    .bytes = static_cast<std::uint32_t>(word.size()),
                                    .hash = hashed,
                                    .first = static_cast<std::uint32_t>(symbols_.size()),
                                    .count = static_cast<std::uint32_t>(symbols.size())};
  symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
}

inline void WordCache::grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(2 * old.size(), Slot());
  for (const Slot& slot : old)
    if (slot.word != nullptr) slots_[place_of({slot.word, slot.bytes}, slot.hash)] = slot;
}

}  // namespace heed
