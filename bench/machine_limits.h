// The machine's measured limits, for comparison with a benchmark's results.
#pragma once

#include <cstdint>

namespace heed {

/// Fused multiply-adds in f32 by `threads` threads at once, with the widest vectors that the
/// kernels use, in GFLOP/s: the best of some short runs, 20 ms in all.
double peak_gflops(int threads);

/// The same for pairs of bf16 (`vdpbf16ps`), if kernels use them; else f32's.
double peak_pair_gflops(int threads);

/// Reading memory that no cache holds, by `threads` threads at once, in GB/s (1e9 bytes).
double read_gbytes_per_second(int threads);

/// Rate of reading the same `bytes` repeatedly, from whichever cache holds them: the best of 20
/// times.
double warm_read_gbytes_per_second(int threads, std::int64_t bytes);

}  // namespace heed
