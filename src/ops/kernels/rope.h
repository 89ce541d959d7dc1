// Rotates pairs of a row: one multiply-add pair per element read and written, so it is bound by
// memory, and plain loops suffice.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heed::kernels {

template <typename T, typename Angle>
struct RopeRow {
  const T* x = nullptr;
  std::int64_t stride = 1;         // of x, in elements
  std::int64_t width = 0;          // D
  std::int64_t turning = 0;        // R
  std::int64_t pair_step = 0;      // from the first element of a pair to the first of the next
  std::int64_t pair_width = 0;     // from a pair's first element to its second
  const Angle* cosines = nullptr;  // [R / 2]
  const Angle* sines = nullptr;    // negated for the inverse rotation
  T* y = nullptr;                  // contiguous
};

template <typename T, typename Angle>
void rope_row(const RopeRow<T, Angle>& row) {
  for (std::int64_t n = 0; n < row.turning / 2; ++n) {
    const std::int64_t first = n * row.pair_step;
    const std::int64_t second = first + row.pair_width;
    const auto a = static_cast<Angle>(row.x[first * row.stride]);
    const auto b = static_cast<Angle>(row.x[second * row.stride]);
    row.y[first] = static_cast<T>(a * row.cosines[n] - b * row.sines[n]);
    row.y[second] = static_cast<T>(b * row.cosines[n] + a * row.sines[n]);
  }
  for (std::int64_t c = row.turning; c < row.width; ++c) row.y[c] = row.x[c * row.stride];
}

}  // namespace heed::kernels
