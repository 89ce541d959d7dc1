// FNV-1a, 64 bits (Fowler, Noll, Vo): detects whether data changed. Not cryptographic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace heed {

class Digest {
 public:
  /// Adds a byte or a word of up to 8 bytes.
  void add(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001B3; }
  /// Adds the numbers and their count.
  void add(std::span<const std::int32_t> numbers) {
    add(numbers.size());
    for (const std::int32_t number : numbers) add(static_cast<std::uint32_t>(number));
  }
  /// Adds word by word; the last word is padded with zeros.
  void add(std::span<const std::byte> bytes) {
    for (std::uint64_t word = 0; !bytes.empty(); word = 0) {
      const std::size_t count = std::min(bytes.size(), sizeof(word));
      std::memcpy(&word, bytes.data(), count);
      add(word);
      bytes = bytes.subspan(count);
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace heed
