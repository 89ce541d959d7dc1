// Operations on the words that `MaskRule::bits` writes: one word per key, with one bit per row.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace heed {

/// Bits [begin, end) of a word.
inline std::uint64_t bit_range(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return 0;
  const std::uint64_t below_end = end >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
  return below_end & ~((std::uint64_t{1} << begin) - 1);
}

/// Bit i is set if byte i is not 0.
inline std::uint64_t bits_of_bytes(std::uint64_t eight) {
  if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
  // Finds the highest bit of each nonzero byte, then packs the eight bits side by side.
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  const std::uint64_t set = ((((eight & kLow) + kLow) | eight) & ~kLow) >> 7;
  return (set * 0x0102040810204080) >> 56;
}

/// Bit i of the word is set if `flags[i]` is not 0; at most 64 flags. A copy of a variable number
/// of bytes takes longer than all else, so whole eights are copied apart.
inline std::uint64_t word_of(const std::uint8_t* flags, std::int64_t count) {
  std::uint64_t word = 0;
  std::int64_t at = 0;
  for (std::uint64_t eight = 0; at + 8 <= count; at += 8) {
    std::memcpy(&eight, flags + at, 8);
    word |= bits_of_bytes(eight) << at;
  }
  if (at == count) return word;
  std::uint64_t rest = 0;
  std::memcpy(&rest, flags + at, static_cast<std::size_t>(count - at));
  return word | bits_of_bytes(rest) << at;
}

/// Transposes 64 x 64 bits (Warren, Hacker's Delight, 7-3).
inline void transpose_bits(std::array<std::uint64_t, 64>& words) {
  std::uint64_t mask = 0xffffffff;
  for (std::size_t width = 32; width != 0; width >>= 1, mask ^= mask << width)
    for (std::size_t at = 0; at < 64; at = ((at | width) + 1) & ~width) {
      const std::uint64_t swapped = ((words[at] >> width) ^ words[at | width]) & mask;
      words[at] ^= swapped << width;
      words[at | width] ^= swapped;
    }
}

}  // namespace heed
