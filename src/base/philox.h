// Philox 4x32-10: a counter-based random generator (Salmon et al., "Parallel Random Numbers: As
// Easy as 1, 2, 3", SC 2011). Each word depends only on key and counter, so dropout stores no mask
// and results do not depend on threads or order.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace heed {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

constexpr PhiloxKey philox_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

/// The four words for one counter.
constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;  // golden ratio
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;  // sqrt(3) - 1
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

/// A stream of random numbers from Philox: `stream` separates independent uses of one seed. Its
/// whole state is three numbers, so a checkpoint can store it.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint32_t stream = 0, std::uint64_t position = 0)
      : key_(philox_key(seed)), stream_(stream), position_(position) {}

  std::uint32_t next_u32() {
    const auto index = static_cast<std::uint32_t>(position_ >> 2);
    const auto high = static_cast<std::uint32_t>(position_ >> 34);
    return philox({index, high, stream_, 0}, key_)[position_++ & 3];
  }
  /// Uniform in [0, 1), 24 bits.
  float uniform() { return static_cast<float>(next_u32() >> 8) * 0x1p-24F; }
  /// Uniform in [0, bound), bound >= 1, with negligible bias for bound << 2^32.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t word = next_u32();
    return (((word << 32) | next_u32()) >> 11) % bound;
  }
  /// Standard normal (Box-Muller, the cosine branch).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log((next_u32() + 0.5) * 0x1p-32));
    return radius * std::cos(2.0 * std::numbers::pi * (next_u32() * 0x1p-32));
  }

  std::uint64_t position() const { return position_; }

 private:
  PhiloxKey key_;
  std::uint32_t stream_;
  std::uint64_t position_;
};

}  // namespace heed
