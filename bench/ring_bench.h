// Times attention of one long text over several ranks.
#pragma once

#include <cstdint>

#include "heed/ranks.h"

namespace heed {

/// Causal self-attention of two heads of size 64, f32.
inline constexpr std::int64_t kRingHeads = 2;
inline constexpr std::int64_t kRingHeadDim = 64;

struct RingTiming {
  std::int64_t tokens = 0;
  int ranks = 1;
  double forward_seconds = 0;      // of the slowest rank
  double backward_seconds = 0;     // the same
  std::int64_t peak_bytes = 0;     // of the rank with the largest, without its q, k, v and dout
  double one_forward_seconds = 0;  // of rank 0 alone with the whole text; only on rank 0
  double one_backward_seconds = 0;
  std::int64_t one_peak_bytes = 0;
  double largest_difference = 0;  // of out, dq, dk and dv between both; only on rank 0
};

/// Each rank has `tokens` / count of them; then rank 0 has all. `tokens` must be divisible into 2
/// count parts.
RingTiming time_ring(Ranks& ranks, std::int64_t tokens, RingSplit split);

}  // namespace heed
