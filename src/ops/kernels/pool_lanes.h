// Pools attention weights over a run of keys for 64 rows: largest, sum and count.
#pragma once

#include <array>
#include <cstdint>

#include "heed/mask.h"

namespace heed::kernels {

/// One entry per row.
struct LanePools {
  alignas(64) std::array<float, kMaskRows> largest;  // -inf if no key is visible; NaN stays NaN
  alignas(64) std::array<float, kMaskRows> sum;      // over the visible keys
  alignas(64) std::array<std::int32_t, kMaskRows> visible;  // keys
  bool sums = true;  // false: `sum` and `visible` are not computed
};

namespace cpu {

/// Pools `values` [keys, 64]; row i counts where bit i of `visible[key] & rows` is set.
void pool_lanes(const float* values, const std::uint64_t* visible, std::int64_t keys,
                std::uint64_t rows, LanePools& pools);

/// Entry i becomes the pool of the 2^times rows from i 2^times on; 64 / 2^times entries remain.
void fold_lanes(LanePools& pools, int times);

}  // namespace cpu
}  // namespace heed::kernels
