// Pools of attention weights: what 64 rows hold of a run of keys.
#pragma once

#include <array>
#include <cstdint>

#include "heed/masks/mask.h"

namespace heed::kernels {

/// One entry a row.
struct LanePools {
  alignas(64) std::array<float, kMaskRows> largest;  // -inf where nothing is visible; a NaN stays
  alignas(64) std::array<float, kMaskRows> sum;      // over the visible keys
  alignas(64) std::array<std::int32_t, kMaskRows> visible;  // keys
};

namespace cpu {

/// Of `values` [keys, 64]; bit i of `visible[key] & rows` says whether row i counts.
void pool_lanes(const float* values, const std::uint64_t* visible, std::int64_t keys,
                std::uint64_t rows, LanePools& pools);

/// Entry i becomes that of the 2^times rows from i 2^times on; 64 / 2^times entries are left.
void fold_lanes(LanePools& pools, int times);

}  // namespace cpu
}  // namespace heed::kernels
